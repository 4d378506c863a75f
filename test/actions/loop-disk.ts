import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';

export interface LoopDisk {
  device: string;
  file: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A block device over a sparse file. This host's kernel reads no partition tables: partitions are devices of their own, at an offset. */
export async function loopDisk(sizeBytes: number): Promise<LoopDisk> {
  const directory = await mkdtemp(path.join(tmpdir(), 'kindling-loop-'));
  const file = path.join(directory, 'disk.raw');
  await writeFile(file, '');
  await truncate(file, sizeBytes);
  const { stdout: device } = await execa('losetup', ['--find', '--show', file]);
  return {
    device,
    file,
    async [Symbol.asyncDispose]() {
      await execa('losetup', ['-d', device]);
      await rm(directory, { recursive: true });
    },
  };
}

/** A loop device that holds one ext4 file system. */
export async function ext4Disk(sizeBytes = 16 << 20): Promise<LoopDisk> {
  const disk = await loopDisk(sizeBytes);
  await execa('mke2fs', ['-q', '-t', 'ext4', '-L', 'rootfs', disk.device]);
  return disk;
}

/** Runs `body` with the file system mounted, to look at what an action left there or to prepare it. */
export async function withMounted<T>(device: string, body: (root: string) => Promise<T>): Promise<T> {
  const target = await mkdtemp(path.join(tmpdir(), 'kindling-look-'));
  await execa('mount', [device, target]);
  try {
    return await body(target);
  } finally {
    await execa('umount', [target]);
    await rm(target, { recursive: true });
  }
}
