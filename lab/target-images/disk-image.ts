import { mkdir, open, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runTool } from '../../initrd/build-tool.ts';
import { EPOCH_SECONDS } from './debian-root.ts';

const MIB = 2 ** 20;
const SECTOR = 512;
const ESP_TYPE = 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B';
const LINUX_ROOT_X86_64 = '4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709';

export interface DiskImageRecipe {
  /** Folder whose contents become the root file system. */
  root: string;
  rootUuid: string;
  /** Path on the EFI system partition → file. */
  espFiles: Record<string, string>;
  espMib: number;
  rootMib: number;
}

/**
 * A raw GPT disk image with an EFI system partition and an ext4 root, made without mounts, loop devices or root rights
 * on devices. The partitions are numbered as in Ubuntu's cloud images: 15 is the ESP, 1 the root, which comes last
 * so that it can grow. Same input, same bytes.
 */
export async function makeDiskImage(output: string, recipe: DiskImageRecipe): Promise<void> {
  const work = `${output}.parts`;
  await mkdir(work);
  try {
    const esp = join(work, 'esp.img');
    const root = join(work, 'root.img');
    await makeEsp(esp, recipe);
    await makeRoot(root, recipe);
    await truncate(await touch(output), (recipe.espMib + recipe.rootMib + 2) * MIB);
    await partition(output, recipe, work);
    await copySparse(esp, output, MIB);
    await copySparse(root, output, (1 + recipe.espMib) * MIB);
  } finally {
    await rm(work, { recursive: true });
  }
}

async function makeEsp(path: string, { espMib, espFiles }: DiskImageRecipe): Promise<void> {
  await truncate(await touch(path), espMib * MIB);
  await runTool('mkfs.vfat', ['--invariant', '-F', '32', '-n', 'ESP', path]);
  const folders = new Set(Object.keys(espFiles).flatMap((file) => parents(file)));
  for (const folder of [...folders].sort()) await runTool('mmd', ['-i', path, `::${folder}`]);
  for (const [name, source] of Object.entries(espFiles))
    await runTool('mcopy', ['-m', '-i', path, source, `::${name}`]);
}

async function makeRoot(path: string, { root, rootUuid, rootMib }: DiskImageRecipe): Promise<void> {
  await truncate(await touch(path), rootMib * MIB);
  await runTool('env', [
    `E2FSPROGS_FAKE_TIME=${EPOCH_SECONDS}`,
    'mke2fs',
    '-q',
    ...['-t', 'ext4', '-L', 'rootfs', '-U', rootUuid, '-m', '1', '-d', root],
    ...['-E', `hash_seed=${rootUuid},lazy_itable_init=1,nodiscard`, path],
  ]);
}

async function partition(path: string, { espMib }: DiskImageRecipe, work: string): Promise<void> {
  const script = join(work, 'partitions');
  const espSectors = (espMib * MIB) / SECTOR;
  const start = MIB / SECTOR;
  await writeFile(
    script,
    [
      'label: gpt',
      'label-id: 6b696e64-6c69-6e67-8000-000000000000',
      `15: start=${start}, size=${espSectors}, type=${ESP_TYPE}, uuid=6b696e64-6c69-6e67-8000-00000000000f, name=ESP`,
      `1: start=${start + espSectors}, type=${LINUX_ROOT_X86_64}, uuid=6b696e64-6c69-6e67-8000-000000000001, name=rootfs`,
      '',
    ].join('\n'),
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
