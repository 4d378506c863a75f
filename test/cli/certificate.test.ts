import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { certify, signCertificate } from '../../actions/erase/certificate.ts';
import { defineCertificate } from '../../cli/certificate.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const signed = signCertificate(
  certify({
    disk: { path: '/dev/sda', sizeBytes: 5, serial: 'S1' },
    method: 'zeroes',
    startedAt: '2026-01-01T00:00:00.000Z',
    finishedAt: '2026-01-01T00:00:01.000Z',
    samples: [{ offset: 0, sha256: 'a', found: 'zeros' }],
    isBlank: true,
  }),
  privateKey,
);
const changed = { ...signed, certificate: { ...signed.certificate, nistClass: 'purge' } };

let folder: string;
let printed: string[];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'kindling-certificate-'));
  printed = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => printed.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

async function verify(content: string, key?: KeyObject): Promise<string> {
  const [file, keyFile] = [path.join(folder, 'log'), path.join(folder, 'key')];
  writeFileSync(file, content);
  if (key) writeFileSync(keyFile, key.export({ type: 'spki', format: 'pem' }));
  const command = new Command('certificate');
  defineCertificate(command);
  await command.parseAsync(['verify', file, ...(key ? ['--key', keyFile] : [])], { from: 'user' });
  return printed.join('\n');
}

describe('kindling certificate verify', () => {
  /** As `kindling node logs --output json` prints it: fields that are no texts come as JSON in a text. */
  const line = (fields: object) => JSON.stringify({ level: 'info', message: 'm', fields });

  it('finds certificates in the log of a node, in a result and alone', async () => {
    const log = [line({}), line({ certificate: JSON.stringify(signed) }), 'no JSON'].join('\n');
    expect(await verify(log, publicKey)).toMatch(/^genuine {2}S1 .*NIST 800-88 clear, all 1 samples gone/);
    await verify(JSON.stringify({ data: { certificates: [signed, signed] } }, null, 2), publicKey);
    await verify(JSON.stringify(signed), publicKey);
    expect(printed).toHaveLength(4);
  });

  it('does not believe one that was changed, and says which', async () => {
    await expect(
      verify(`${line({ certificate: JSON.stringify(changed) })}\n${line({ a: signed })}`, publicKey),
    ).rejects.toMatchObject({
      code: 'KND_CERTIFICATE_INVALID',
      exitCode: 4,
    });
    expect(printed).toEqual([expect.stringContaining('NOT GENUINE'), expect.stringContaining('genuine')]);
  });

  it('does not believe another signer than the one that is asked for', async () => {
    const other = generateKeyPairSync('ed25519').publicKey;
    await expect(verify(JSON.stringify(signed), other)).rejects.toThrow(/1 of 1/);
    expect(printed[0]).toContain('signed by another key');
  });

  it('S-21: one that a throw-away key has signed proves nothing, however right its signature is', async () => {
    await expect(verify(JSON.stringify(signed))).rejects.toMatchObject({ exitCode: 4 });
    expect(printed).toEqual([expect.stringMatching(/^SELF-SIGNED, UNPROVEN {2}S1/)]);
    expect(printed.join()).not.toMatch(/genuine|NIST|gone/);
  });

  it('a file without any is no success', async () => {
    await expect(verify(line({}))).rejects.toThrow(/holds no certificate/);
  });
});
