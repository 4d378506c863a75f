import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, open, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { encodeGpt } from '../../formats/partition-table/gpt-encode.ts';

const ESP = 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b';
const ROOT = '4f68bce3-e8cd-4db1-96e7-fbcaf984b709';
const LINUX = '0fc63daf-8483-4772-8e79-3d69d8477de4';
const MIB = 2 ** 20;

export interface TestImage {
  raw: string;
  espGuid: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A disk image like a real one, only small: GPT, EFI system partition with a loader (any EFI program), ext4 root with busybox as its system.
 * Made without mounting anything. With `persistent` it has a third partition, as Edge Microvisor images do.
 */
export async function buildTestImage(options: {
  loader: string;
  loaderPath: string;
  persistent?: boolean;
  /** Also on the EFI system partition, as /initrd.img. */
  initramfs?: Buffer;
  /** Further programs of the root, in /bin: name and script. */
  programs?: Record<string, string>;
}): Promise<TestImage> {
  const folder = await mkdtemp(path.join(tmpdir(), 'kindling-image-'));
  const raw = path.join(folder, 'disk.raw');
  const filesBytes = 2 * (await stat(options.loader)).size + (options.initramfs?.length ?? 0);
  const espBytes = Math.ceil((filesBytes + 4 * MIB) / MIB) * MIB;
  const rootBytes = 24 * MIB;
  const persistentBytes = options.persistent ? 8 * MIB : 0;
  const espGuid = randomUUID();

  await makeEsp(path.join(folder, 'esp'), espBytes, options.loader, options.loaderPath);
  if (options.initramfs) {
    await execa('mcopy', ['-i', path.join(folder, 'esp'), '-', '::initrd.img'], { input: options.initramfs });
  }
  await makeRoot(folder, path.join(folder, 'root'), rootBytes, options.programs ?? {});

  const starts = [MIB, MIB + espBytes, MIB + espBytes + rootBytes];
  const sizeBytes = MIB + espBytes + rootBytes + persistentBytes + MIB;
  const partitions = [
    {
      number: 1,
      startBytes: starts[0] ?? 0,
      sizeBytes: espBytes,
      type: ESP,
      partUuid: espGuid,
      partLabel: 'esp',
    },
    {
      number: 2,
      startBytes: starts[1] ?? 0,
      sizeBytes: rootBytes,
      type: ROOT,
      partUuid: randomUUID(),
      partLabel: 'rootfs',
    },
    ...(options.persistent
      ? [
          {
            number: 3,
            startBytes: starts[2] ?? 0,
            sizeBytes: persistentBytes,
            type: LINUX,
            partUuid: randomUUID(),
            partLabel: 'edge_persistent',
          },
        ]
      : []),
  ];
  await using disk = await open(raw, 'w');
  await disk.truncate(sizeBytes);
  for (const { offset, bytes } of encodeGpt({
    diskGuid: randomUUID(),
    sectorBytes: 512,
    sizeBytes,
    partitions,
  })) {
    await disk.write(bytes, 0, bytes.length, offset);
  }
  await disk.write(await readFile(path.join(folder, 'esp')), 0, undefined, starts[0] ?? 0);
  await disk.write(await readFile(path.join(folder, 'root')), 0, undefined, starts[1] ?? 0);
  if (options.persistent) {
    const file = path.join(folder, 'persistent');
    await execa('mke2fs', ['-q', '-t', 'ext4', '-L', 'edge_persistent', file, `${persistentBytes / 1024}k`]);
    await disk.write(await readFile(file), 0, undefined, starts[2] ?? 0);
  }
  return { raw, espGuid, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

async function makeEsp(file: string, bytes: number, loader: string, loaderPath: string): Promise<void> {
  await writeFile(file, '');
  await execa('truncate', ['-s', String(bytes), file]);
  await execa('mkfs.vfat', ['-n', 'ESP', file]);
  const folders = loaderPath.split('/').slice(0, -1);
  for (const [index] of folders.entries()) {
    await execa('mmd', ['-i', file, `::${folders.slice(0, index + 1).join('/')}`]);
  }
  await execa('mcopy', ['-i', file, loader, `::${loaderPath}`]);
}

async function makeRoot(
  folder: string,
  file: string,
  bytes: number,
  programs: Record<string, string>,
): Promise<void> {
  const tree = path.join(folder, 'tree');
  for (const directory of ['bin', 'etc', 'dev', 'proc', 'sys', 'var', 'tmp', 'run', 'root', 'usr']) {
    await mkdir(path.join(tree, directory), { recursive: true });
  }
  await copyFile('/bin/busybox', path.join(tree, 'bin/busybox'));
  for (const name of ['sh', 'cat', 'ls', 'echo', 'uname', 'touch', 'true', 'sleep']) {
    await symlink('busybox', path.join(tree, 'bin', name));
  }
  for (const [name, script] of Object.entries(programs))
    await writeFile(path.join(tree, 'bin', name), script, { mode: 0o755 });
  await writeFile(path.join(tree, 'etc/os-release'), 'ID=test\nVERSION_ID="1"\n');
  await writeFile(path.join(tree, 'etc/fstab'), '# made by the image\n');
  await execa('mke2fs', ['-q', '-t', 'ext4', '-L', 'rootfs', '-d', tree, file, `${bytes / 1024}k`]);
}
