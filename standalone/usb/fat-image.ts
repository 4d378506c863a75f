import { truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import type { PartitionEntry } from '../../formats/partition-table/table.ts';
import { KindlingError } from '../../protocol/error.ts';

/** A FAT32 file system in a file, filled with mtools: no mount, so neither root nor a FAT driver is needed. */
export async function makeFatImage(
  image: string,
  partition: PartitionEntry,
  label: string,
  files: readonly { path: string; source: string | Buffer }[],
): Promise<void> {
  await writeFile(image, '');
  await truncate(image, partition.sizeBytes);
  // -h: BIOS boot sectors find the partition by the hidden sectors in front of it.
  const hidden = String(partition.startBytes / 512);
  await tool('mkfs.vfat', ['-F', '32', '-n', label, '-h', hidden, image], 'dosfstools');
  const folders = new Set<string>();
  for (const { path } of files) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  const sorted = [...folders].sort();
  if (sorted.length > 0) await tool('mmd', ['-i', image, ...sorted.map((folder) => `::${folder}`)], 'mtools');
  for (const [index, { path, source }] of files.entries()) {
    let from = source;
    if (typeof from !== 'string') {
      from = join(dirname(image), `fat-file-${index}`);
      await writeFile(from, source);
    }
    await tool('mcopy', ['-i', image, '-o', from, `::${path}`], 'mtools');
  }
}

export async function tool(program: string, args: string[], debianPackage: string): Promise<void> {
  const env = { MTOOLS_SKIP_CHECK: '1' };
  const result = await execa(program, args, { reject: false, env });
  if (result.exitCode === undefined) {
    throw new KindlingError('KND_TOOL_MISSING', `${program} is not installed`, {
      hint: `Install the Debian package ${debianPackage}.`,
    });
  }
  if (result.exitCode !== 0) {
    throw new KindlingError(
      'KND_COMMAND_FAILED',
      `${program} ended with ${result.exitCode}: ${result.stderr}`,
    );
  }
}
