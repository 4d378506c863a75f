import { truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PartitionEntry } from '../../formats/partition-table/table.ts';
import { run } from '../../system/run.ts';

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
  await run('mkfs.vfat', ['-F', '32', '-n', label, '-h', hidden, image], { foreground: true });
  const folders = new Set<string>();
  for (const { path } of files) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  const sorted = [...folders].sort();
  if (sorted.length > 0) await mtools('mmd', ['-i', image, ...sorted.map((folder) => `::${folder}`)]);
  for (const [index, { path, source }] of files.entries()) {
    let from = source;
    if (typeof from !== 'string') {
      from = join(dirname(image), `fat-file-${index}`);
      await writeFile(from, source);
    }
    await mtools('mcopy', ['-i', image, '-o', from, `::${path}`]);
  }
}

/** Without its check mtools refuses a file system whose geometry is not that of a floppy or a known disk. */
async function mtools(program: 'mmd' | 'mcopy', args: readonly string[]): Promise<void> {
  await run(program, args, { env: { MTOOLS_SKIP_CHECK: '1' }, foreground: true });
}
