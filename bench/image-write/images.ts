import { execFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { indexImage } from '../../images/index-image.ts';

const MIB = 1024 * 1024;
const run = promisify(execFile);

/** How much of each image is files; the rest reads as zeros, as on most images that are made to be copied. */
const USED_SHARE = 0.45;

/** In bytes: the big image (zst, qcow2, raw, chunked) and the unit of the scaling rows (also gz, xz, bz2). */
export interface ImageSizes {
  big: number;
  unit: number;
}

/**
 * Makes every image file of the benchmark, or takes those that an earlier run of the same size left in the folder:
 * compressing them takes longer than writing them.
 */
export async function makeImages(folder: string, sizes: ImageSizes): Promise<void> {
  const stamp = join(folder, 'sizes.json');
  const wanted = JSON.stringify(sizes);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  makeDisk(join(folder, 'disk.raw'), sizes.big);
  makeDisk(join(folder, 'unit.raw'), sizes.unit);
  const sh = (script: string) => run('bash', ['-c', script], { cwd: folder });
  await Promise.all([
    sh(
      'zstd -qf -3 --single-thread disk.raw -o disk.raw.zst; sha256sum disk.raw.zst | cut -c-64 > disk.raw.zst.sha256',
    ),
    sh('zstd -qf -3 --single-thread unit.raw -o unit.raw.zst'),
    sh('pigz -kf -6 unit.raw'),
    // published qcow2 images are compressed
    sh('qemu-img convert -c -O qcow2 disk.raw disk.qcow2'),
    sh('bmaptool create disk.raw -o disk.bmap'),
    sh('xz -kf -1 -T2 unit.raw; lbzip2 -kf unit.raw'),
    index(folder, 'disk.raw', 'chunked.zst'),
  ]);
  writeFileSync(stamp, wanted);
}

/** A chunked image with its manifest beside it, as `kindling image index` makes it. */
export async function index(folder: string, raw: string, blob: string): Promise<void> {
  const { manifest } = await indexImage(join(folder, raw), join(folder, blob));
  writeFileSync(join(folder, `${blob}.manifest`), manifest);
}

/** GPT and one ext4 partition, partly full of real files: programs, libraries, documents. */
export function makeDisk(path: string, bytes: number): void {
  const source = `${path}.files`;
  mkdirSync(source);
  let left = bytes * USED_SHARE;
  for (const folder of ['/usr/lib/x86_64-linux-gnu', '/usr/bin', '/usr/share', '/usr/lib'])
    left = copyFiles(folder, source, left);
  rmSync(path, { force: true });
  writeFileSync(path, '');
  truncateSync(path, bytes);
  execFileSync('sgdisk', ['-n', '1:2048:0', path], { stdio: 'ignore' });
  const kibibytes = (bytes - 2 * MIB) / 1024;
  execFileSync('mke2fs', ['-q', '-t', 'ext4', '-d', source, '-E', `offset=${MIB}`, path, `${kibibytes}k`]);
  rmSync(source, { recursive: true });
}

/** Copies plain files until this many bytes are used up; answers what is left. */
function copyFiles(from: string, to: string, bytes: number): number {
  let left = bytes;
  if (left <= 0) return 0; // listing /usr/share takes longer than copying what is needed
  const prefix = from.replaceAll('/', '_');
  for (const entry of readdirSync(from, { withFileTypes: true, recursive: true })) {
    if (left <= 0) break;
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    left -= statSync(path).size + 4096;
    copyFileSync(path, join(to, `${prefix}${path.slice(from.length).replaceAll('/', '_')}`.slice(-200)));
  }
  return left;
}
