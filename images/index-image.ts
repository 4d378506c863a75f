import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import {
  type Chunk,
  chunkCount,
  chunkLength,
  DEFAULT_CHUNK_SIZE,
  encodeManifest,
  MAX_CHUNK_SIZE,
  type ManifestFacts,
} from '../formats/image-manifest.ts';
import { readGptPlace } from '../formats/partition-table/gpt-backup.ts';
import { KindlingError } from '../protocol/error.ts';
import type { Frame } from './frame.ts';
import { FrameCompressor } from './frame-compressor.ts';
import { writeWhole } from './output-file.ts';
import type { ByteRange } from './unused/file-system.ts';
import { type Finding, findUnusedBlocks } from './unused/find-unused.ts';

const MIB = 1024 * 1024;
/** What can be taken for a raw image by mistake, by its first bytes. */
const CONTAINERS: readonly { magic: string; name: string; unpack: string }[] = [
  { magic: 'QFI\xfb', name: 'qcow2', unpack: 'qemu-img convert -O raw' },
  { magic: '\x28\xb5\x2f\xfd', name: 'zstd', unpack: 'zstd -d' },
  { magic: '\x1f\x8b\x08', name: 'gzip', unpack: 'gunzip' },
  { magic: '\xfd7zXZ\0', name: 'xz', unpack: 'unxz' },
  { magic: 'BZh', name: 'bzip2', unpack: 'bunzip2' },
];

export interface IndexOptions {
  chunkSize?: number;
  /** zstd level; it is part of what makes the result reproducible. */
  level?: number;
  /** Store what no file uses as zeros; without, every byte is kept. */
  omitUnused?: boolean;
  /** What the manifest says beside the bytes: which one of several this is, and until when it is good. */
  edition?: Pick<ManifestFacts, 'version' | 'expires'>;
  onProgress?: (done: number, total: number) => void;
}

export interface IndexResult extends ManifestFacts {
  manifest: string;
  chunks: number;
  zeroChunks: number;
  unusedBytes: number;
  /** What was found in each partition when unused blocks were looked for. */
  findings: Finding[];
}

const DEFAULT_LEVEL = 9;
/** All chunks of zeros are the same few bytes, whatever the level. */
const LEVEL_FOR_ZEROS = 1;

/**
 * Makes a chunked image: `blob` is a plain multi-frame .zst of the raw image, one frame per chunk; the manifest says
 * where each lies. The same input and level always give the same two files.
 */
export async function indexImage(
  raw: string,
  blob: string,
  options: IndexOptions = {},
): Promise<IndexResult> {
  const { chunkSize = DEFAULT_CHUNK_SIZE, level = DEFAULT_LEVEL } = options;
  if (chunkSize % MIB !== 0 || chunkSize < MIB || chunkSize > MAX_CHUNK_SIZE) {
    throw new KindlingError('KND_USAGE', `chunks have 1 to 16 MiB, not ${chunkSize / MIB}`);
  }
  if (level < 1 || level > 19) throw new KindlingError('KND_USAGE', `zstd has levels 1 to 19, not ${level}`);
  await using input = await open(raw, 'r');
  const { size } = await input.stat();
  if (size === 0) throw new KindlingError('KND_USAGE', `${raw} is empty`);
  await refuseContainer(input, raw);
  return await writeWhole(blob, raw, (output) =>
    writeChunks(input, size, output, { ...options, chunkSize, level }),
  );
}

/** A container on a disk does not boot; and nobody would notice before a node has it. */
async function refuseContainer(input: FileHandle, raw: string): Promise<void> {
  const { buffer } = await input.read(Buffer.alloc(8), 0, 8, 0);
  const start = buffer.toString('latin1');
  const found = CONTAINERS.find(({ magic }) => start.startsWith(magic));
  if (!found) return;
  throw new KindlingError('KND_IMAGE_CONTRADICTION', `${raw} is not a raw disk image but ${found.name}`, {
    hint: `Unpack it first: ${found.unpack}.`,
  });
}

async function writeChunks(
  input: FileHandle,
  size: number,
  output: FileHandle,
  options: IndexOptions & { chunkSize: number; level: number },
): Promise<IndexResult> {
  const { chunkSize, level } = options;
  const unused = options.omitUnused
    ? await findUnusedBlocks(input, size)
    : { ranges: [], bytes: 0, findings: [] };
  const total = chunkCount({ size, chunkSize });
  const rawHash = createHash('sha256');
  const blobHash = createHash('sha256');
  const chunks: Chunk[] = [];
  let offset = 0;
  let gpt: ManifestFacts['gpt'];

  // a few chunks are compressed at a time, and land in the file in their order
  const threads = Math.min(availableParallelism(), total);
  await using compressor = new FrameCompressor(threads);
  const pending: Promise<CompressedChunk>[] = [];
  let next = 0;
  const width = 2 * threads;
  for (let index = 0; index < total; index += 1) {
    for (; next < total && pending.length < width; next += 1) {
      const length = chunkLength({ size, chunkSize }, next);
      const chunk = readChunk(input, next * chunkSize, length, unused.ranges).then((raw) =>
        compressChunk(compressor, raw, level),
      );
      chunk.catch(() => {}); // an earlier one may have failed, and then nobody waits for this one
      pending.push(chunk);
    }
    const chunk = await pending.shift();
    if (!chunk) break;
    if (index === 0) gpt = readGptPlace(chunk.raw);
    rawHash.update(chunk.raw);
    blobHash.update(chunk.stored);
    await output.write(chunk.stored, 0, chunk.stored.length, offset);
    if (!chunk.isZero) {
      const { storedSha256, rawSha256 } = chunk;
      chunks.push({ index, offset, length: chunk.stored.length, storedSha256, rawSha256 });
    }
    offset += chunk.stored.length;
    options.onProgress?.(index + 1, total);
  }
  const facts: ManifestFacts = {
    size,
    chunkSize,
    blobSize: offset,
    blobSha256: blobHash.digest('hex'),
    rawSha256: rawHash.digest('hex'),
    ...options.edition,
    ...(gpt ? { gpt } : {}),
  };
  return {
    ...facts,
    manifest: encodeManifest(facts, chunks),
    chunks: total,
    zeroChunks: total - chunks.length,
    unusedBytes: unused.bytes,
    findings: unused.findings,
  };
}

interface CompressedChunk extends Frame {
  raw: Buffer;
  isZero: boolean;
}

async function readChunk(
  input: FileHandle,
  position: number,
  length: number,
  unused: readonly ByteRange[],
): Promise<Buffer> {
  const raw = Buffer.alloc(length);
  for (let done = 0; done < length; ) {
    const { bytesRead } = await input.read(raw, done, length - done, position + done);
    if (bytesRead === 0)
      throw new KindlingError('KND_UNEXPECTED', 'the image became shorter while it was read');
    done += bytesRead;
  }
  blank(raw, position, unused);
  return raw;
}

async function compressChunk(
  compressor: FrameCompressor,
  raw: Buffer,
  level: number,
): Promise<CompressedChunk> {
  const isZero = raw[0] === 0 && raw.equals(Buffer.alloc(raw.length));
  return { raw, isZero, ...(await compressor.compress(raw, isZero ? LEVEL_FOR_ZEROS : level)) };
}

/** Zeros what no file uses. */
function blank(raw: Buffer, position: number, unused: readonly ByteRange[]): void {
  const end = position + raw.length;
  for (let i = firstEndingAfter(unused, position); i < unused.length; i += 1) {
    const range = unused[i];
    if (!range || range.start >= end) break;
    raw.fill(0, Math.max(range.start - position, 0), Math.min(range.end, end) - position);
  }
}

function firstEndingAfter(ranges: readonly ByteRange[], position: number): number {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle]?.end ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}
