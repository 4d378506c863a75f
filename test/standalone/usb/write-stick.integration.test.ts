import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, expect, test } from 'vitest';
import { writeRegions } from '../../../standalone/usb/write-stick.ts';
import { ext4Disk, loopDisk } from '../../actions/loop-disk.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindling-write-stick-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const bytes = Buffer.alloc(5_000_000, 'stick');

test('a device gets its regions, from memory and from files, and they are read back from the device', async () => {
  const file = join(folder, 'part');
  writeFileSync(file, bytes);
  await using disk = await loopDisk(16e6);
  const said: string[] = [];
  const regions = [
    { name: 'part', offset: 1024 * 1024, source: { file } },
    { name: 'table', offset: 0, source: Buffer.from('table') },
  ];
  await writeRegions(disk.device, { kind: 'device' }, regions, (text) => said.push(text));
  const written = readFileSync(disk.file);
  expect(written.subarray(1024 * 1024, 1024 * 1024 + bytes.length).equals(bytes)).toBe(true);
  expect(written.toString('latin1', 0, 5)).toBe('table');
  expect(said).toEqual(['writing part', 'writing table', 'reading back part', 'reading back table']);
});

test('a device that is mounted is refused by the kernel itself', async () => {
  await using disk = await ext4Disk();
  const target = mkdtempSync(join(folder, 'mnt-'));
  await execa('mount', [disk.device, target]);
  try {
    const regions = [{ name: 'table', offset: 0, source: Buffer.from('table') }];
    await expect(writeRegions(disk.device, { kind: 'device' }, regions, () => {})).rejects.toMatchObject({
      code: 'KND_STICK_TARGET_REFUSED',
    });
  } finally {
    await execa('umount', [target]);
  }
});

test('a medium that does not keep what was written is found out', async () => {
  // Two regions over each other: the first no longer reads back, as on a stick that is smaller than it says.
  const regions = [
    { name: 'first', offset: 0, source: bytes },
    { name: 'second', offset: 1000, source: Buffer.from('other') },
  ];
  const medium = { kind: 'new-file' as const, sizeBytes: 8e6 };
  await expect(writeRegions(join(folder, 'x.img'), medium, regions, () => {})).rejects.toMatchObject({
    code: 'KND_STICK_VERIFY',
    evidence: { region: 'first' },
  });
});
