import { createHash } from 'node:crypto';
import { createReadStream, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { execa } from 'execa';
import { expect } from 'vitest';
import { readPartitionTable } from '../../../formats/partition-table/read.ts';
import type { PartitionEntry } from '../../../formats/partition-table/table.ts';
import type { DiskFile } from '../../../lab/qemu/disk-file.ts';
import { LAB_KERNEL_ARGUMENTS } from '../../../lab/qemu/micro-os.ts';
import { STICK_LABELS } from '../../../protocol/stick.ts';
import { validateConfig } from '../../../standalone/config/validate.ts';
import { type BootOptions, collectBootFiles } from '../../../standalone/usb/boot-files.ts';
import { buildStick } from '../../../standalone/usb/build-stick.ts';

/** An image file of a stick, made as `kindling standalone usb` makes it. */
export async function buildTestStick(
  folder: string,
  config: string,
  secureBoot: BootOptions['secureBoot'],
): Promise<string> {
  const target = join(folder, 'stick.img');
  const configFile = join(folder, 'config.yaml');
  writeFileSync(configFile, config);
  const validation = validateConfig(config);
  expect(validation.issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  await buildStick({
    validation,
    configFile,
    target,
    createdBy: 'test',
    bootFiles: (kernelArguments, profile) =>
      collectBootFiles([kernelArguments, ...LAB_KERNEL_ARGUMENTS].join(' '), profile, { secureBoot }),
    say: () => {},
  });
  return target;
}

/** The places of the stick's partitions. */
export async function stickPartition(
  stick: DiskFile,
  label: keyof typeof STICK_LABELS,
): Promise<PartitionEntry> {
  const table = await readPartitionTable((offset, length) => stick.read(offset, length), await stick.size());
  const found = table?.partitions.find(({ partLabel }) => partLabel === STICK_LABELS[label]);
  if (found === undefined) throw new Error(`${stick.path} has no partition ${label}`);
  return found;
}

/** A file of the partition for people, as anybody sees it who plugs the stick in. */
export async function stickFile(stick: DiskFile, path: string): Promise<string> {
  const { startBytes } = await stickPartition(stick, 'people');
  const env = { MTOOLS_SKIP_CHECK: '1' };
  return (await execa('mtype', ['-i', `${stick.path}@@${startBytes}`, `::${path}`], { env })).stdout;
}

/** A file inside an ext4 partition of a disk. */
export async function installedFile(disk: DiskFile, root: PartitionEntry, path: string): Promise<string> {
  const copy = `${disk.path}.root`;
  writeFileSync(copy, await disk.read(root.startBytes, root.sizeBytes));
  try {
    return (await execa('debugfs', ['-R', `cat ${path}`, copy])).stdout;
  } finally {
    rmSync(copy);
  }
}

/** Whether two disks hold the same, bit for bit, shows here. */
export async function hashOfDisk(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
