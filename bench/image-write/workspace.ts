import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUpAtExit } from '../clean-up.ts';
import { type ImageSizes, makeImages } from './images.ts';
import { startNginx } from './web-server.ts';

/** The place of one benchmark: images in memory, an HTTP server that is no bottleneck, loop devices as disks. */
export interface Workspace {
  folder: string;
  url: string;
  sizes: ImageSizes;
  /** A loop device over a file in memory, made new: all zeros, nothing allocated. */
  freshTarget: (bytes: number) => string;
  close: () => Promise<void>;
}

export interface WorkspaceOptions {
  sizes: ImageSizes;
  /** A folder in memory whose images are kept for the next run. */
  keepIn?: string | undefined;
}

/** Makes images, starts nginx. Everything lies in /dev/shm so that no real disk blurs the figures. */
export async function openWorkspace({ sizes, keepIn }: WorkspaceOptions): Promise<Workspace> {
  if (keepIn) mkdirSync(keepIn, { recursive: true });
  const folder = keepIn ?? mkdtempSync('/dev/shm/kindling-bench-');
  const targetFile = join(folder, 'target.img');
  let loop: string | undefined;
  const detach = () => {
    if (loop) execFileSync('losetup', ['-d', loop]);
    loop = undefined;
    rmSync(targetFile, { force: true });
  };
  const removeFolder = () => {
    if (!keepIn) rmSync(folder, { recursive: true, force: true });
  };
  const isUndone = cleanUpAtExit(() => {
    detach();
    removeFolder();
  });
  await makeImages(folder, sizes);
  const { url, stop } = await startNginx(folder);
  return {
    folder,
    url,
    sizes,
    freshTarget: (bytes) => {
      detach();
      writeFileSync(targetFile, '');
      truncateSync(targetFile, bytes);
      loop = execFileSync('losetup', ['-f', '--show', targetFile], { encoding: 'utf8' }).trim();
      return loop;
    },
    close: async () => {
      detach();
      await stop();
      removeFolder();
      isUndone();
    },
  };
}
