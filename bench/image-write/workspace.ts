import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUpAtExit } from '../clean-up.ts';
import { type ImageSizes, makeImages } from './images.ts';
import { LoopDisk } from './loop-disk.ts';
import { startNginx } from './web-server.ts';

/** The place of one benchmark: images in memory, an HTTP server that is no bottleneck, loop devices as disks. */
export interface Workspace {
  folder: string;
  url: string;
  sizes: ImageSizes;
  /** A disk in memory: writes to it do not wait, but the copies cost these cores. */
  freshTarget: (bytes: number) => string;
  /** On the machine's own disk, which takes the bytes from memory by itself, as a node's does. */
  freshDisk: (bytes: number) => string;
  close: () => Promise<void>;
}

export interface WorkspaceOptions {
  sizes: ImageSizes;
  /** A folder in memory whose images are kept for the next run. */
  keepIn?: string | undefined;
  /** A folder on the machine's own disk. */
  diskFolder?: string | undefined;
}

/** Not /tmp, which may be in memory. */
const DISK_FOLDER = '/var/tmp';

/** Makes images, starts nginx. Nearly everything lies in /dev/shm so that no real disk blurs the figures. */
export async function openWorkspace({
  sizes,
  keepIn,
  diskFolder = DISK_FOLDER,
}: WorkspaceOptions): Promise<Workspace> {
  if (keepIn) mkdirSync(keepIn, { recursive: true });
  const folder = keepIn ?? mkdtempSync('/dev/shm/kindling-bench-');
  const memory = new LoopDisk(join(folder, 'target.img'), 'memory');
  const disk = new LoopDisk(join(diskFolder, `kindling-bench-${process.pid}.img`), 'direct');
  const removeDisks = () => {
    memory.remove();
    disk.remove();
  };
  const removeFolder = () => {
    if (!keepIn) rmSync(folder, { recursive: true, force: true });
  };
  const isUndone = cleanUpAtExit(() => {
    removeDisks();
    removeFolder();
  });
  await makeImages(folder, sizes);
  const { url, stop } = await startNginx(folder);
  return {
    folder,
    url,
    sizes,
    freshTarget: (bytes) => memory.fresh(bytes),
    freshDisk: (bytes) => disk.fresh(bytes),
    close: async () => {
      removeDisks();
      await stop();
      removeFolder();
      isUndone();
    },
  };
}
