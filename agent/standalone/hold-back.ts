import { type FileHandle, open } from 'node:fs/promises';
import { readAt } from './medium.ts';

/** A disk that cannot be started yet. */
export interface HeldBack {
  /** Puts the first sector back: from now on the disk starts. */
  release: () => Promise<void>;
}

/**
 * Takes the first sector off a disk whose image is written but not yet configured. Without it no BIOS finds boot code and no UEFI
 * firmware accepts the partition table (UEFI 2.10, 5.2.3: a GPT needs its protective MBR), so whatever happens until `release` – a
 * power cut, a stick pulled out – nothing half-installed starts. The kernel, and our own reader, go on seeing the partitions.
 */
export async function holdBack(device: string, sectorBytes: number): Promise<HeldBack> {
  const first = await withDevice(device, async (disk) => {
    const sector = await readAt(disk, 0, sectorBytes);
    await disk.write(Buffer.alloc(sectorBytes), 0, sectorBytes, 0);
    return sector;
  });
  return {
    release: () =>
      withDevice(device, async (disk) => {
        await disk.write(first, 0, first.length, 0);
      }),
  };
}

async function withDevice<T>(device: string, work: (disk: FileHandle) => Promise<T>): Promise<T> {
  await using disk = await open(device, 'r+');
  const result = await work(disk);
  await disk.sync();
  return result;
}
