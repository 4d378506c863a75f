import type { KeyObject } from 'node:crypto';
import { KindlingError } from '../protocol/error.ts';
import { nodeCrypto, sha256 } from '../system/crypto.ts';

/**
 * The manifest of a chunked image: a text file beside the image (`disk.raw.zst.manifest`). The image itself is a
 * plain .zst whose frames are the chunks, so that every tool can use it; the manifest says where each chunk lies.
 *
 *     kindling-image-manifest 1
 *     {"size":4294967296,"chunkSize":4194304,…}          facts about the whole image, one line of JSON
 *     0 0 812345 <sha256 of the frame> <sha256 of the raw chunk>     one line per chunk that is not all zeros
 *     …
 *     signature <key id> <base64>                        Ed25519 over the root; any number of them
 *
 * The root is the SHA-256 of everything before the first signature line.
 */
export const MANIFEST_MAGIC = 'kindling-image-manifest 1';
const MIB = 1024 * 1024;
export const DEFAULT_CHUNK_SIZE = 4 * MIB;
export const MAX_CHUNK_SIZE = 16 * MIB;

export interface ManifestFacts {
  /** Bytes of the raw image. */
  size: number;
  chunkSize: number;
  /** Bytes and SHA-256 of the .zst file as a whole. */
  blobSize: number;
  blobSha256: string;
  rawSha256: string;
  /** Counts up with every image that the publisher puts in the place of the one before. */
  version?: number;
  /** Until when the signatures vouch for it (ISO 8601). */
  expires?: string;
  /** What moving the backup GPT changes in the first MiB, so that it can be undone for a comparison. */
  gpt?: GptPlace;
}

/** The fields of a GPT that depend on the size of the disk, as they are in the image. */
export interface GptPlace {
  sectorSize: number;
  alternateLba: number;
  lastUsableLba: number;
  /** Sectors the protective MBR covers. */
  protectiveSectors: number;
}

export interface Chunk {
  index: number;
  /** Where its frame lies in the .zst file. */
  offset: number;
  length: number;
  storedSha256: string;
  rawSha256: string;
}

export interface ManifestSignature {
  keyId: string;
  signature: Buffer;
}

export interface ImageManifest extends ManifestFacts {
  root: string;
  /** Sorted by index; an index that is missing is a chunk of zeros. */
  chunks: Chunk[];
  signatures: ManifestSignature[];
}

/** How many chunks the raw image has, zeros included. */
export const chunkCount = (facts: Pick<ManifestFacts, 'size' | 'chunkSize'>): number =>
  Math.ceil(facts.size / facts.chunkSize);

/** Raw bytes of one chunk: all have the same but the last. */
export const chunkLength = (facts: Pick<ManifestFacts, 'size' | 'chunkSize'>, index: number): number =>
  Math.min(facts.chunkSize, facts.size - index * facts.chunkSize);

/** Writes the manifest without signatures: the same image always gives the same bytes. */
export function encodeManifest(facts: ManifestFacts, chunks: readonly Chunk[]): string {
  const { size, chunkSize, blobSize, blobSha256, rawSha256, version, expires, gpt } = facts;
  // JSON leaves out what is undefined
  const head = JSON.stringify({ size, chunkSize, blobSize, blobSha256, rawSha256, version, expires, gpt });
  const lines = chunks.map(
    ({ index, offset, length, storedSha256, rawSha256: raw }) =>
      `${index} ${offset} ${length} ${storedSha256} ${raw}\n`,
  );
  return `${MANIFEST_MAGIC}\n${head}\n${lines.join('')}`;
}

/** Adds a signature at the end; the root stays what it was. */
export function signManifest(text: string, privateKey: KeyObject): string {
  const { body, signatures } = split(text);
  const keyId = keyIdOf(nodeCrypto().createPublicKey(privateKey));
  const line = `signature ${keyId} ${nodeCrypto()
    .sign(null, signedText(rootOf(body)), privateKey)
    .toString('base64')}\n`;
  const others = signatures.filter((entry) => !entry.startsWith(`signature ${keyId} `));
  return [body, ...others.map((entry) => `${entry}\n`), line].join('');
}

/** Reads a manifest and checks that it holds together; whether it is to be trusted is another question. */
export function decodeManifest(text: string): ImageManifest {
  const { body, signatures } = split(text);
  const [magic, head = '', ...lines] = body.trimEnd().split('\n');
  if (magic !== MANIFEST_MAGIC) throw malformed('it is not an image manifest of version 1');
  const facts = decodeFacts(head);
  const chunks = lines.map((line) => decodeChunk(line));
  checkChunks(facts, chunks);
  return {
    ...facts,
    root: rootOf(body),
    chunks,
    signatures: signatures.map((line) => {
      const [, keyId = '', signature = ''] = line.split(' ');
      return { keyId, signature: Buffer.from(signature, 'base64') };
    }),
  };
}

/** Whether one of the keys (PEM) signed this manifest. */
export function isManifestSignedBy(manifest: ImageManifest, publicKeys: readonly string[]): boolean {
  const text = signedText(manifest.root);
  return publicKeys.some((pem) => {
    const key = nodeCrypto().createPublicKey(pem);
    return manifest.signatures.some(({ signature }) => nodeCrypto().verify(null, text, key, signature));
  });
}

/** A short name for a public key: the first 16 digits of the SHA-256 of its DER form. */
function keyIdOf(key: KeyObject): string {
  return sha256(key.export({ type: 'spki', format: 'der' }))
    .toString('hex')
    .slice(0, 16);
}

const signedText = (root: string) => Buffer.from(`kindling-image-manifest-root ${root}\n`);

const rootOf = (body: string) => sha256(Buffer.from(body)).toString('hex');

function split(text: string): { body: string; signatures: string[] } {
  const at = text.search(/^signature /m);
  if (at < 0) return { body: text, signatures: [] };
  return { body: text.slice(0, at), signatures: text.slice(at).trimEnd().split('\n') };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isSha256 = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

const isMoment = (value: unknown) =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value)) && new Date(value).toISOString() === value;

function decodeFacts(line: string): ManifestFacts {
  let facts: Partial<ManifestFacts> | null;
  try {
    facts = JSON.parse(line) as Partial<ManifestFacts> | null;
  } catch (cause) {
    throw malformed('its second line is not JSON', cause);
  }
  if (facts === null) throw malformed('its second line says nothing');
  const { size, chunkSize, blobSize, blobSha256, rawSha256, version, expires, gpt } = facts;
  if (!isCount(size) || size === 0 || !isCount(blobSize) || !isSha256(blobSha256) || !isSha256(rawSha256)) {
    throw malformed('sizes or hashes of the image are missing');
  }
  // the writer keeps a few chunks in memory, and the first one holds all of the MiB that is written last
  if (!isCount(chunkSize) || chunkSize < MIB || chunkSize > MAX_CHUNK_SIZE || chunkSize % MIB !== 0) {
    throw malformed(`its chunk size ${chunkSize} is not a whole number of MiB up to 16`);
  }
  if (version !== undefined && (!isCount(version) || version === 0))
    throw malformed('its version is not a whole number from 1 on');
  if (expires !== undefined && !isMoment(expires)) throw malformed('the date of its end makes no sense');
  if (gpt !== undefined && !isGptPlace(gpt))
    throw malformed('the place of its partition table makes no sense');
  return {
    size,
    chunkSize,
    blobSize,
    blobSha256,
    rawSha256,
    ...(version === undefined ? {} : { version }),
    ...(expires === undefined ? {} : { expires }),
    ...(gpt ? { gpt } : {}),
  };
}

function isGptPlace(place: GptPlace | null): boolean {
  const { sectorSize, alternateLba, lastUsableLba, protectiveSectors } = place ?? ({} as Partial<GptPlace>);
  const isSector = sectorSize === 512 || sectorSize === 4096;
  return (
    isSector &&
    [alternateLba, lastUsableLba, protectiveSectors].every(isCount) &&
    (protectiveSectors ?? 0) < 2 ** 32
  );
}

function decodeChunk(line: string): Chunk {
  const [index, offset, length, storedSha256 = '', rawSha256 = ''] = line.split(' ');
  const chunk = {
    index: Number(index),
    offset: Number(offset),
    length: Number(length),
    storedSha256,
    rawSha256,
  };
  const isGood = isCount(chunk.index) && isCount(chunk.offset) && isCount(chunk.length) && chunk.length > 0;
  if (!isGood || !isSha256(storedSha256) || !isSha256(rawSha256))
    throw malformed(`bad line "${line.slice(0, 60)}"`);
  return chunk;
}

function checkChunks(facts: ManifestFacts, chunks: readonly Chunk[]): void {
  const count = chunkCount(facts);
  let lastIndex = -1;
  let end = 0;
  for (const chunk of chunks) {
    const isInOrder = chunk.index > lastIndex && chunk.index < count;
    const isInBlob = chunk.offset >= end && chunk.offset + chunk.length <= facts.blobSize;
    // zstd's bound for data it cannot compress is far below this
    const isSane = chunk.length <= facts.chunkSize + 65_536;
    if (!isInOrder || !isInBlob || !isSane) throw malformed(`chunk ${chunk.index} is out of place`);
    lastIndex = chunk.index;
    end = chunk.offset + chunk.length;
  }
}

const malformed = (why: string, cause?: unknown) =>
  new KindlingError('KND_IMAGE_MANIFEST', `the image manifest is malformed: ${why}`, { cause });
