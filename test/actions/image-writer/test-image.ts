import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, crc32, gzipSync, zstdCompressSync } from 'node:zlib';
import type { ImageFormat } from '../../../actions/image-writer/interface.ts';

const SECTOR = 512;

/** Numbers that look random and are the same in every run (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A disk image: valid GPT with both copies, text-like data, random data, long runs of zeros. */
export function makeDiskImage(bytes: number, seed = 1, sectorSize = SECTOR): Buffer {
  const image = Buffer.alloc(bytes);
  const random = seededRandom(seed);
  const words = Array.from({ length: 64 }, () => Math.floor(random() * 2 ** 32));
  for (let at = 1024 * 1024; at < bytes - 64 * 1024; at += 64 * 1024) {
    const kind = random();
    if (kind < 0.4) continue;
    for (let i = 0; i < 64 * 1024; i += 4) {
      image.writeUInt32LE(
        kind < 0.7 ? (words[Math.floor(random() * 64)] ?? 0) : Math.floor(random() * 2 ** 32),
        at + i,
      );
    }
  }
  writeGpt(image, sectorSize);
  return image;
}

function writeGpt(image: Buffer, sectorSize: number): void {
  const lastLba = image.length / sectorSize - 1;
  const entriesSectors = (128 * 128) / sectorSize;
  image.write('boot code of a test image', 0);
  image[446 + 4] = 0xee;
  image.writeUInt32LE(1, 446 + 8);
  image.writeUInt32LE(Math.min(lastLba, 0xffffffff), 446 + 12);
  image.writeUInt16LE(0xaa55, 510);
  const entries = Buffer.alloc(128 * 128);
  Buffer.from('af3dc60f838472478e793d69d8477de4', 'hex').copy(entries, 0);
  Buffer.from('0123456789abcdef0123456789abcdef', 'hex').copy(entries, 16);
  entries.writeBigUInt64LE(BigInt((1024 * 1024) / sectorSize), 32);
  entries.writeBigUInt64LE(BigInt(lastLba - entriesSectors - 1), 40);
  entries.write('rootfs', 56, 'utf16le');
  const header = (myLba: number, alternateLba: number, entriesLba: number) => {
    const bytes = Buffer.alloc(sectorSize);
    bytes.write('EFI PART', 0);
    bytes.writeUInt32LE(0x00010000, 8);
    bytes.writeUInt32LE(92, 12);
    bytes.writeBigUInt64LE(BigInt(myLba), 24);
    bytes.writeBigUInt64LE(BigInt(alternateLba), 32);
    bytes.writeBigUInt64LE(BigInt(2 + entriesSectors), 40);
    bytes.writeBigUInt64LE(BigInt(lastLba - entriesSectors - 1), 48);
    Buffer.from('fedcba9876543210fedcba9876543210', 'hex').copy(bytes, 56);
    bytes.writeBigUInt64LE(BigInt(entriesLba), 72);
    bytes.writeUInt32LE(128, 80);
    bytes.writeUInt32LE(128, 84);
    bytes.writeUInt32LE(crc32(entries), 88);
    bytes.writeUInt32LE(crc32(bytes.subarray(0, 92)), 16);
    return bytes;
  };
  header(1, lastLba, 2).copy(image, sectorSize);
  entries.copy(image, 2 * sectorSize);
  entries.copy(image, (lastLba - entriesSectors) * sectorSize);
  header(lastLba, 1, lastLba - entriesSectors).copy(image, lastLba * sectorSize);
}

/** The image as a file of each format, several frames or members where the format has them. */
export function encodeImage(raw: Buffer, format: ImageFormat): Buffer {
  if (format === 'qcow2') return convertToQcow2(raw);
  const half = halfOf(raw);
  return Buffer.concat([
    encodeMember(raw.subarray(0, half), format),
    encodeMember(raw.subarray(half), format),
  ]);
}

/** What is left of such a file when all but its first member is lost. */
export const encodeFirstMember = (raw: Buffer, format: ImageFormat): Buffer =>
  encodeMember(raw.subarray(0, halfOf(raw)), format);

const halfOf = (raw: Buffer) => Math.floor(raw.length / 2 / 4096) * 4096;

function encodeMember(raw: Buffer, format: ImageFormat): Buffer {
  switch (format) {
    case 'gz':
      return gzipSync(raw, { level: 1 });
    case 'zst':
      return zstdCompressSync(raw, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
    case 'xz':
      return pipe('xz', ['-0', '-c'], raw);
    case 'bz2':
      return pipe('bzip2', ['-1', '-c'], raw);
    default:
      return raw;
  }
}

const pipe = (program: string, args: string[], input: Buffer): Buffer =>
  execFileSync(program, args, { input, maxBuffer: 2 ** 30 });

export function convertToQcow2(raw: Buffer, options: readonly string[] = []): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-qcow2-'));
  try {
    writeFileSync(join(folder, 'raw'), raw);
    execFileSync('qemu-img', [
      'convert',
      '-f',
      'raw',
      '-O',
      'qcow2',
      ...options,
      join(folder, 'raw'),
      join(folder, 'q'),
    ]);
    return readFileSync(join(folder, 'q'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
