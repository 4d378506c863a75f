import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { decodeCpio } from '../../formats/cpio.ts';
import type { RootFile } from './root-files.ts';

/** One row of `kindling build microos --explain`: a file, where it is from, and its share of the initramfs. */
interface Share {
  path: string;
  package: string;
  size: number;
  compressedSize: number;
}

const ORIGINS = 'origins.json';

/** Keeps beside a built Micro-OS which package each of its files comes from: the archive itself cannot tell. */
export async function saveOrigins(folder: string, files: readonly RootFile[]): Promise<void> {
  const origins = Object.fromEntries(files.map((file) => [file.path, file.package]));
  await writeFile(join(folder, ORIGINS), JSON.stringify(origins));
}

/** A table for people of what is in a built Micro-OS; links and folders, which weigh nothing, are counted in the last line. */
export async function explainMicroOs(folder: string): Promise<string> {
  const rows = await shares(folder);
  const total = rows.reduce((sum, { compressedSize }) => sum + compressedSize, 0);
  const weighty = rows.filter(({ compressedSize }) => compressedSize > 0);
  const lines = weighty.map(
    (row) =>
      `${kilobytes(row.compressedSize).padStart(10)} ${((row.compressedSize / total) * 100).toFixed(1).padStart(5)} %` +
      ` ${kilobytes(row.size).padStart(10)}  ${row.package.padEnd(28)} ${row.path}`,
  );
  const header = `compressed   share   unpacked  ${'Debian package'.padEnd(28)} file`;
  return `${[header, ...lines].join('\n')}\n${weighty.length} files, ${rows.length - weighty.length} links and folders\n`;
}

/**
 * How much each file adds to the compressed initramfs. All files are compressed together, so a share cannot be measured,
 * only estimated: each file is compressed alone, and the sizes are scaled so that they add up to the whole.
 */
async function shares(folder: string): Promise<Share[]> {
  const initramfs = await readFile(join(folder, 'initramfs-x86_64'));
  const origins = JSON.parse(await readFile(join(folder, ORIGINS), 'utf8')) as Record<string, string>;
  const files = decodeCpio(zstdDecompressSync(initramfs));
  const alone = files.map((file) => (file.type === 'file' ? compressedSize(file.contents) : 0));
  const scale = initramfs.length / alone.reduce((sum, size) => sum + size, 0);
  return files
    .map((file, index) => ({
      path: `/${file.path}`,
      package: origins[file.path] ?? '',
      size: file.type === 'file' ? file.contents.length : 0,
      compressedSize: Math.round((alone[index] ?? 0) * scale),
    }))
    .sort((a, b) => b.compressedSize - a.compressedSize || (a.path < b.path ? -1 : 1));
}

function compressedSize(contents: Buffer): number {
  return zstdCompressSync(contents, { params: { [constants.ZSTD_c_compressionLevel]: 6 } }).length;
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
