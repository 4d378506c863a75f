import { mkdir, open, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PARTITION_TYPES } from '../../formats/partition-table/partition-types.ts';
import { runTool } from '../../initrd/build-tool.ts';
import { listTree } from '../../initrd/list-tree.ts';
import { EPOCH_SECONDS } from './debian-root.ts';

const MIB = 2 ** 20;
const SECTOR = 512;
const TYPES = {
  esp: PARTITION_TYPES.esp,
  root: '4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709', // Linux root, x86-64
  data: PARTITION_TYPES.linux,
} as const;

export interface PartitionRecipe {
  number: number;
  label: string;
  type: keyof typeof TYPES;
  mib: number;
  content: FatContent | Ext4Content;
}

interface FatContent {
  kind: 'fat';
  /** ESP unless given. */
  label?: string;
  /** Path on the file system → file. */
  files: Record<string, string>;
  /** Makes the disk start under BIOS too, by the syslinux.cfg among the files. */
  biosLoader?: BiosLoader;
}

interface Ext4Content {
  kind: 'ext4';
  label: string;
  uuid: string;
  /** mke2fs takes small ones for small file systems, which are slow to grow to the size of a disk. */
  blockBytes?: number;
  /** Becomes its content; empty without. */
  folder?: string;
}

/** Debian's syslinux: the program that puts it on a FAT file system, and the MBR code that finds that partition. */
export interface BiosLoader {
  syslinux: string;
  mbrCode: string;
}

/**
 * A raw GPT disk image, its partitions one after the other in the order given, made without mounts, loop devices or root rights on
 * devices. Same input, same bytes.
 */
export async function makeDiskImage(output: string, partitions: readonly PartitionRecipe[]): Promise<void> {
  const work = `${output}.parts`;
  await mkdir(work);
  try {
    const mib = partitions.reduce((sum, partition) => sum + partition.mib, 0);
    await truncate(await touch(output), (mib + 2) * MIB);
    await writeTable(output, partitions, work);
    let at = MIB;
    for (const partition of partitions) {
      const file = join(work, `${partition.number}.img`);
      await truncate(await touch(file), partition.mib * MIB);
      await fill(file, partition.content, at / SECTOR);
      await copySparse(file, output, at);
      at += partition.mib * MIB;
      if (partition.content.kind === 'fat' && partition.content.biosLoader)
        await writeMbrCode(output, partition.content.biosLoader.mbrCode);
    }
  } finally {
    await rm(work, { recursive: true });
  }
}

async function fill(file: string, content: FatContent | Ext4Content, startSector: number): Promise<void> {
  if (content.kind === 'fat') return fillFat(file, content, startSector);
  const { label, uuid, folder, blockBytes } = content;
  await runTool('env', [
    `E2FSPROGS_FAKE_TIME=${EPOCH_SECONDS}`,
    'mke2fs',
    '-q',
    ...['-t', 'ext4', '-L', label, '-U', uuid, '-m', '1', ...(folder === undefined ? [] : ['-d', folder])],
    ...(blockBytes === undefined ? [] : ['-b', String(blockBytes), '-i', '16384']),
    ...['-E', `hash_seed=${uuid},lazy_itable_init=1,nodiscard`, file],
  ]);
  if (folder !== undefined) await forgetWhenCopied(file, folder);
}

/** mke2fs takes the times of access and change from the folder, and those nobody can set there: they tell when it was unpacked. */
async function forgetWhenCopied(file: string, folder: string): Promise<void> {
  const paths = ['/', ...(await listTree(folder)).map((path) => `/${path}`)];
  const script = `${file}.times`;
  const lines = paths.flatMap((path) =>
    ['atime', 'ctime'].map((field) => `set_inode_field "${path}" ${field} @${EPOCH_SECONDS}`),
  );
  await writeFile(script, `${lines.join('\n')}\n`);
  await runTool('env', [`E2FSPROGS_FAKE_TIME=${EPOCH_SECONDS}`, 'debugfs', '-w', '-f', script, file]);
}

async function fillFat(file: string, content: FatContent, startSector: number): Promise<void> {
  const { files, biosLoader, label = 'ESP' } = content;
  // -h: the BIOS loader finds its partition by the sectors in front of it.
  await runTool('mkfs.vfat', ['--invariant', '-F', '32', '-n', label, '-h', String(startSector), file]);
  const folders = new Set(Object.keys(files).flatMap((name) => parents(name)));
  const dated = ['TZ=UTC', `SOURCE_DATE_EPOCH=${EPOCH_SECONDS}`];
  for (const folder of [...folders].sort())
    await runTool('env', [...dated, 'mmd', '-i', file, `::${folder}`]);
  for (const [name, source] of Object.entries(files))
    await runTool('env', [...dated, 'mcopy', '-m', '-i', file, source, `::${name}`]);
  if (biosLoader)
    await runTool('env', [...dated, 'MTOOLS_SKIP_CHECK=1', biosLoader.syslinux, '--install', file]);
}

/** The first 440 bytes of a disk are code; the rest of the sector belongs to the partition table. */
async function writeMbrCode(disk: string, file: string): Promise<void> {
  const code = (await readFile(file)).subarray(0, 440);
  await using handle = await open(disk, 'r+');
  await handle.write(code, 0, code.length, 0);
}

async function writeTable(path: string, partitions: readonly PartitionRecipe[], work: string): Promise<void> {
  const script = join(work, 'partitions');
  let start = MIB / SECTOR;
  const lines = partitions.map(({ number, label, type, mib, content }) => {
    const size = (mib * MIB) / SECTOR;
    const uuid = `6b696e64-6c69-6e67-8000-${number.toString(16).padStart(12, '0')}`;
    const isBiosBoot = content.kind === 'fat' && content.biosLoader;
    const attributes = isBiosBoot ? ', attrs=LegacyBIOSBootable' : '';
    const line = `${number}: start=${start}, size=${size}, type=${TYPES[type]}, uuid=${uuid}, name=${label}${attributes}`;
    start += size;
    return line;
  });
  await writeFile(
    script,
    ['label: gpt', 'label-id: 6b696e64-6c69-6e67-8000-000000000000', ...lines, ''].join('\n'),
  );
  await runTool('sh', [
    '-c',
    'sfdisk --quiet --no-reread --no-tell-kernel "$1" < "$2"',
    'sfdisk',
    path,
    script,
  ]);
}
/** Zero blocks stay holes. */
async function copySparse(from: string, to: string, offset: number): Promise<void> {
  await using source = await open(from, 'r');
  await using target = await open(to, 'r+');
  const chunk = Buffer.alloc(MIB);
  const zeros = Buffer.alloc(MIB);
  for (let at = 0; ; at += MIB) {
    const { bytesRead } = await source.read(chunk, 0, MIB, at);
    if (bytesRead === 0) return;
    const data = chunk.subarray(0, bytesRead);
    if (!data.equals(zeros.subarray(0, bytesRead))) await target.write(data, 0, bytesRead, offset + at);
  }
}

function parents(file: string): string[] {
  const folder = dirname(file);
  return folder === '/' ? [] : [...parents(folder), folder];
}

async function touch(path: string): Promise<string> {
  await writeFile(path, '');
  return path;
}
