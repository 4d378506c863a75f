import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, expect, it, vi } from 'vitest';
import { certify, signCertificate } from '../../actions/erase/certificate.ts';
import { defineCertificate } from '../../cli/certificate.ts';

afterEach(() => vi.restoreAllMocks());

it('a certificate that was forged with a throw-away key is not called genuine, and the command ends with 4', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-s21-'));
  const printed: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => printed.push(line));
  const forged = signCertificate(
    certify({
      disk: { path: '/dev/sda', sizeBytes: 5, serial: 'S1\x1b[2J' },
      method: 'zeroes',
      startedAt: '2026-01-01T00:00:00.000Z',
      finishedAt: '2026-01-01T00:00:01.000Z',
      samples: [{ offset: 0, sha256: 'a', found: 'zeros' }],
      isBlank: true,
    }),
    generateKeyPairSync('ed25519').privateKey,
  );
  writeFileSync(join(folder, 'log'), JSON.stringify(forged));
  const command = new Command('certificate');
  defineCertificate(command);
  await expect(command.parseAsync(['verify', join(folder, 'log')], { from: 'user' })).rejects.toMatchObject({
    code: 'KND_CERTIFICATE_INVALID',
    exitCode: 4,
  });
  rmSync(folder, { recursive: true });
  expect(printed).toEqual([expect.stringMatching(/^SELF-SIGNED, UNPROVEN {2}S1 /)]);
  expect(printed.join()).not.toMatch(/genuine|NIST|gone/);
  expect(printed.join()).not.toContain('\x1b');
});
