import { createHash, hash } from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { zstdDecompressSync } from 'node:zlib';
import { chunkCount, chunkLength, decodeManifest, type ImageManifest } from '../formats/image-manifest.ts';
import { KindlingError } from '../protocol/error.ts';
import { writeWhole } from './output-file.ts';

export interface ReadOptions {
  onProgress?: (done: number, total: number) => void;
}

const ZEROS = Buffer.alloc(1024 * 1024);

export const manifestPathOf = (blob: string): string => `${blob}.manifest`;

export async function readManifest(path: string): Promise<ImageManifest> {
  return decodeManifest(
    await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      throw new KindlingError('KND_IMAGE_MANIFEST', `${path} cannot be read (${cause.code})`, { cause });
    }),
  );
}

/** Compares every chunk of an image file with its manifest; throws at the first that differs. */
export async function verifyImage(
  blob: string,
  manifest: ImageManifest,
  options: ReadOptions = {},
): Promise<void> {
  await using input = await open(blob, 'r');
  const { size } = await input.stat();
  if (size !== manifest.blobSize) {
    throw new KindlingError(
      'KND_IMAGE_LENGTH',
      `${blob} has ${size} bytes, its manifest says ${manifest.blobSize}`,
    );
  }
  const whole = createHash('sha256');
  for await (const bytes of input.createReadStream({
    autoClose: false,
    highWaterMark: 1024 * 1024,
    start: 0,
  })) {
    whole.update(bytes as Buffer);
  }
  if (whole.digest('hex') !== manifest.blobSha256) {
    throw new KindlingError('KND_IMAGE_HASH', `${blob} is not the file its manifest was made for`);
  }
  const image = createHash('sha256');
  let position = 0;
  const hashUpTo = (end: number) => {
    for (; position < end; position += ZEROS.length) image.update(ZEROS.subarray(0, end - position));
    position = end;
  };
  const take = async (raw: Buffer, at: number) => {
    hashUpTo(at);
    image.update(raw);
    position += raw.length;
  };
  await readChunks(input, manifest, blob, take, options);
  hashUpTo(manifest.size);
  if (image.digest('hex') !== manifest.rawSha256) {
    throw new KindlingError('KND_IMAGE_HASH', `the raw image in ${blob} is not the one its manifest names`);
  }
}

/** Writes the raw image into a file; every chunk is verified before it is written, and the file is there only when all are. */
export async function extractImage(
  blob: string,
  manifest: ImageManifest,
  raw: string,
  options: ReadOptions = {},
): Promise<void> {
  await using input = await open(blob, 'r');
  await writeWhole(raw, blob, async (output) => {
    await output.truncate(manifest.size);
    const write = (bytes: Buffer, position: number) => output.write(bytes, 0, bytes.length, position);
    await readChunks(input, manifest, blob, write, options);
  });
}

async function readChunks(
  input: FileHandle,
  manifest: ImageManifest,
  blob: string,
  take: (raw: Buffer, position: number) => Promise<unknown>,
  options: ReadOptions,
): Promise<void> {
  let done = 0;
  for (const { index, offset, length, storedSha256, rawSha256 } of manifest.chunks) {
    const stored = Buffer.alloc(length);
    await input.read(stored, 0, length, offset);
    const isStored = hash('sha256', stored, 'hex') === storedSha256;
    const raw = isStored ? unpack(stored, chunkLength(manifest, index)) : undefined;
    if (!raw || hash('sha256', raw, 'hex') !== rawSha256) {
      throw new KindlingError(
        'KND_IMAGE_HASH',
        `chunk ${index} of ${blob} is not the one its manifest names`,
      );
    }
    await take(raw, index * manifest.chunkSize);
    done += 1;
    options.onProgress?.(done, manifest.chunks.length);
  }
}

function unpack(stored: Buffer, length: number): Buffer | undefined {
  try {
    return zstdDecompressSync(stored, { maxOutputLength: length });
  } catch {
    return undefined;
  }
}

export interface ManifestDifference {
  total: number;
  changed: number[];
  /** Bytes a node with the old image fetches to become the new one. */
  bytesToFetch: number;
}

/** Which chunks of `after` a disk that holds `before` lacks at their place. */
export function diffManifests(before: ImageManifest, after: ImageManifest): ManifestDifference {
  const total = chunkCount(after);
  if (before.chunkSize !== after.chunkSize) {
    const bytes = after.chunks.reduce((sum, { length }) => sum + length, 0);
    return { total, changed: Array.from({ length: total }, (_, i) => i), bytesToFetch: bytes };
  }
  const old = new Map(before.chunks.map((chunk) => [chunk.index, chunk.rawSha256]));
  const fresh = new Map(after.chunks.map((chunk) => [chunk.index, chunk]));
  const changed: number[] = [];
  let bytesToFetch = 0;
  for (let index = 0; index < total; index += 1) {
    const isBeyond = index >= chunkCount(before) && !fresh.has(index);
    if (old.get(index) === fresh.get(index)?.rawSha256 && !isBeyond) continue;
    changed.push(index);
    bytesToFetch += fresh.get(index)?.length ?? 0;
  }
  return { total, changed, bytesToFetch };
}
