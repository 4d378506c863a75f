import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  appendFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { seededRandom } from '../actions/image-writer/test-image.ts';

const KIB = 1024;
/** Every file by name: its kind and a hash of what is in it. */
export type Contents = Record<string, string>;

/** A file with nothing in it of some size, to make a file system in. */
export async function emptyImage(path: string, bytes: number): Promise<void> {
  await rm(path, { force: true });
  await writeFile(path, '');
  await truncate(path, bytes);
}

/** Mounts the image (or a partition of it) for the time of a task. */
export async function whileMounted<T>(
  image: string,
  task: (folder: string) => Promise<T>,
  options = 'loop',
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'kindling-mounted-'));
  await execa('mount', ['-o', options, image, folder]);
  try {
    return await task(folder);
  } finally {
    await execa('umount', [folder]);
    await rm(folder, { recursive: true });
  }
}

/**
 * Some time of use: files of all sizes, written in turns so that they lie in pieces, grown, cut, deleted, and files in the place of deleted
 * ones. The same for the same seed.
 */
export async function useFileSystem(folder: string, bytes: number, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const block = (length: number) => {
    const out = Buffer.alloc(length);
    for (let at = 0; at + 4 <= length; at += 4) out.writeUInt32LE(Math.floor(random() * 2 ** 32), at);
    return out;
  };
  const sizes = () => Math.floor(random() < 0.5 ? random() * 9 * KIB : random() * 900 * KIB);
  let alive: string[] = [];
  let written = 0;
  for (let round = 0; round < 4; round += 1) {
    const home = join(folder, `round ${round}`);
    await mkdir(home);
    const fresh: string[] = [];
    while (written < ((round + 1) * bytes) / 4) {
      const path = join(home, `file-${fresh.length}-${'x'.repeat(Math.floor(random() * 60))}`);
      const data = block(sizes());
      await writeFile(path, data);
      fresh.push(path);
      written += data.length;
      const other = fresh[Math.floor(random() * fresh.length)];
      if (other && random() < 0.4) await appendFile(other, block(20 * KIB));
      if (other && random() < 0.1) await truncate(other, 5000);
    }
    alive.push(...fresh);
    await execa('sync', ['-f', folder]);
    const [kept, deleted]: [string[], string[]] = [[], []];
    for (const path of alive) (random() < 0.45 ? deleted : kept).push(path);
    for (const path of deleted) await rm(path);
    alive = kept;
  }
  await symlink('round 0', join(folder, 'link'));
  await truncate(alive[0] ?? join(folder, 'holes'), 3_000_000);
}

export async function contentsOf(folder: string): Promise<Contents> {
  const contents: Contents = {};
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    const path = join(folder, name);
    const { mode, size } = await lstat(path);
    const kind = (mode & 0o170000).toString(8);
    if (kind === '120000') contents[name] = `link ${await readlink(path)}`;
    else if (kind === '100000') contents[name] = `${size} ${await digestOf(path)}`;
    else contents[name] = kind;
  }
  return contents;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path)) hash.update(bytes as Buffer);
  return hash.digest('hex');
}
