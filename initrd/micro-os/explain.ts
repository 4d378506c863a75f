import { constants, zstdCompressSync } from 'node:zlib';
import type { RootFile } from './root-files.ts';

/** One row of `kindling build microos --explain`: a file, where it is from, and its share of the initramfs. */
export interface Share {
  path: string;
  package: string;
  size: number;
  compressedSize: number;
}

/**
 * How much each file adds to the compressed initramfs. All files are compressed together, so a share cannot be measured,
 * only estimated: each file is compressed alone, and the sizes are scaled so that they add up to the whole.
 */
export function shares(files: readonly RootFile[], initramfsSize: number): Share[] {
  const alone = files.map((file) => (file.type === 'file' ? compressedSize(file.contents) : 0));
  const scale = initramfsSize / alone.reduce((sum, size) => sum + size, 0);
  return files
    .map((file, index) => ({
      path: `/${file.path}`,
      package: file.package,
      size: file.type === 'file' ? file.contents.length : 0,
      compressedSize: Math.round((alone[index] ?? 0) * scale),
    }))
    .sort((a, b) => b.compressedSize - a.compressedSize || (a.path < b.path ? -1 : 1));
}

/** A table for people; links and folders, which weigh nothing, are counted in the last line. */
export function explainTable(rows: readonly Share[]): string {
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

function compressedSize(contents: Buffer): number {
  return zstdCompressSync(contents, { params: { [constants.ZSTD_c_compressionLevel]: 6 } }).length;
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
