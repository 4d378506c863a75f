import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { verifySiteArchive } from '../../../agent/boot/site-archive.ts';
import { decodeCpio } from '../../../formats/cpio.ts';
import { encodePublicKey } from '../../../protocol/public-key.ts';
import { sealDocument } from '../../../protocol/signed-document.ts';
import { ARCHIVE_DOMAIN, ARCHIVE_LIST_PATH } from '../../../protocol/site-files.ts';
import { packConfigArchive } from '../../../site/config-archive.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';
import { machineFiles } from '../../../system/machine-files.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const site = {
  ca: 'the CA\n',
  environment: { http_proxy: 'http://proxy.example:3128' },
  site: '0d9f8c5e-0000-4000-8000-000000000001',
};
const edition = { version: 7, expires: '2100-01-01T00:00:00.000Z' };
const ours = parseKernelArguments(`kindling.site_key=${encodePublicKey(createPublicKey(privateKey))}`);
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** A machine on which the kernel has unpacked an archive signed with this key. */
function machineWith(key = privateKey) {
  const root = mkdtempSync(join(tmpdir(), 'kindling-archive-'));
  folders.push(root);
  unpack(root, edition, key);
  return { root, files: machineFiles(root) };
}

/** What the kernel does with an archive of this edition. */
function unpack(root: string, of: typeof edition, key = privateKey): void {
  for (const entry of decodeCpio(packConfigArchive({ ...site, edition: of }, [key]))) {
    if (entry.type !== 'file') continue;
    mkdirSync(dirname(join(root, entry.path)), { recursive: true });
    writeFileSync(join(root, entry.path), entry.contents);
  }
}

const refusal = (work: () => unknown) => {
  try {
    work();
  } catch (thrown) {
    return thrown as { code: string; message: string };
  }
  return undefined;
};

describe('the agent and the config archive', () => {
  it('accepts the archive of its own site', () => {
    expect(verifySiteArchive(machineWith().files, ours)).toEqual({ files: 5, version: 7 });
  });

  it('S-15: takes no older one than it has started with, and remembers that in the firmware', () => {
    const { root, files } = machineWith();
    mkdirSync(join(root, 'sys/firmware/efi/efivars'), { recursive: true });
    expect(verifySiteArchive(files, ours)?.version).toBe(7);
    unpack(root, { ...edition, version: 9 });
    expect(verifySiteArchive(files, ours)?.version).toBe(9);
    expect(verifySiteArchive(files, ours)?.version).toBe(9);
    unpack(root, { ...edition, version: 8 });
    expect(refusal(() => verifySiteArchive(files, ours))).toMatchObject({
      code: 'KND_ARCHIVE_OLD',
      message: 'the config archive is version 8; this machine has started with version 9',
    });
    // Another site's numbers are its own.
    const elsewhere = { ...site, site: 'another-site', edition };
    for (const entry of decodeCpio(packConfigArchive(elsewhere, [privateKey])))
      if (entry.type === 'file') writeFileSync(join(root, entry.path), entry.contents);
    expect(verifySiteArchive(files, ours)?.version).toBe(7);
  });

  it('S-15: takes none after its end, and none without a version', () => {
    const { root, files } = machineWith();
    const end = new Date('2100-01-01T00:00:00.000Z');
    expect(refusal(() => verifySiteArchive(files, ours, end))?.code).toBe('KND_ARCHIVE_EXPIRED');
    const list = sealDocument(ARCHIVE_DOMAIN, { files: {} }, [privateKey]);
    writeFileSync(join(root, ARCHIVE_LIST_PATH), list);
    expect(refusal(() => verifySiteArchive(files, ours))?.code).toBe('KND_ARCHIVE_OLD');
  });

  it('checks nothing where no site key was given', () => {
    expect(verifySiteArchive(machineWith().files, parseKernelArguments('quiet'))).toBeUndefined();
  });

  it('refuses another site’s', () => {
    const { files } = machineWith(generateKeyPairSync('ed25519').privateKey);
    expect(refusal(() => verifySiteArchive(files, ours))?.code).toBe('KND_ARCHIVE_FOREIGN');
  });

  it('refuses to go on without one', () => {
    const root = mkdtempSync(join(tmpdir(), 'kindling-archive-'));
    folders.push(root);
    expect(refusal(() => verifySiteArchive(machineFiles(root), ours))?.code).toBe('KND_ARCHIVE_MISSING');
  });

  it.each([
    ['changed', 'etc/idp/ca.pem', 'another CA'],
    ['added', 'usr/local/share/ca-certificates/ca.crt', 'a CA nobody signed'],
  ])('refuses a file that was %s, and names it', (_, path, text) => {
    const { root, files } = machineWith();
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    const thrown = refusal(() => verifySiteArchive(files, ours));
    expect(thrown?.code).toBe('KND_ARCHIVE_CHANGED');
    expect(thrown?.message).toContain(`/${path}`);
  });

  it('refuses a removed file', () => {
    const { root, files } = machineWith();
    rmSync(join(root, 'etc/hook/env_config'));
    expect(refusal(() => verifySiteArchive(files, ours))?.message).toContain(
      '/etc/hook/env_config is missing',
    );
  });

  it('refuses a list that was changed with the files, and one that is no list', () => {
    const { root, files } = machineWith();
    const path = join(root, ARCHIVE_LIST_PATH);
    const envelope = JSON.parse(readFileSync(path, 'utf8'));
    const payload = Buffer.from(JSON.stringify({ files: {} })).toString('base64');
    for (const text of [
      JSON.stringify({ ...envelope, payload }),
      '{',
      '{}',
      '[]',
      '{"payload":"","signatures":[{}]}',
    ]) {
      writeFileSync(path, text);
      expect(refusal(() => verifySiteArchive(files, ours))?.code).toBe('KND_ARCHIVE_CHANGED');
    }
  });
});
