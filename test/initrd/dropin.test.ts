import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeCpio } from '../../formats/cpio.ts';
import { packDropin } from '../../initrd/dropin.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-dropin-test-'));
});

afterEach(() => rm(folder, { recursive: true }));

describe('a drop-in archive', () => {
  it('holds the folder’s files at their paths', async () => {
    await mkdir(join(folder, 'lib/firmware'), { recursive: true });
    await writeFile(join(folder, 'lib/firmware/nic.bin'), 'firmware', { mode: 0o600 });
    await symlink('nic.bin', join(folder, 'lib/firmware/old-name.bin'));
    expect(decodeCpio(await packDropin(folder))).toMatchObject([
      { path: 'lib', type: 'directory' },
      { path: 'lib/firmware', type: 'directory' },
      { path: 'lib/firmware/nic.bin', type: 'file', mode: 0o600, contents: Buffer.from('firmware') },
      { path: 'lib/firmware/old-name.bin', type: 'symlink', target: 'nic.bin' },
    ]);
  });

  it('keeps a link to a folder as a link, and does not go through it', async () => {
    await mkdir(join(folder, 'usr/lib'), { recursive: true });
    await writeFile(join(folder, 'usr/lib/nic.bin'), 'firmware');
    await symlink('usr/lib', join(folder, 'lib'));
    const paths = decodeCpio(await packDropin(folder)).map(({ path }) => path);
    expect(paths).toEqual(['lib', 'usr', 'usr/lib', 'usr/lib/nic.bin']);
  });

  it('is refused for an empty or a missing folder', async () => {
    await expect(packDropin(folder)).rejects.toThrow(/is empty/);
    await expect(packDropin(join(folder, 'nowhere'))).rejects.toThrow(/cannot be read/);
  });
});
