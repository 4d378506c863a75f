import { inflateRawSync, constants as zlib, zstdDecompressSync } from 'node:zlib';
import { KindlingError } from '../../../protocol/error.ts';
import { type ExtentFacts, Qcow2Extents } from './qcow2-extents.ts';

/** qcow2 header (qemu docs/interop/qcow2.txt); all numbers are big-endian. */
const HEADER = {
  version: 4,
  backingFileOffset: 8,
  clusterBits: 20,
  size: 24,
  cryptMethod: 32,
  l1Size: 36,
  l1Offset: 40,
  incompatible: 72, // version 3
  headerLength: 100, // version 3
  compressionType: 104, // if headerLength says that it is there
  end: 112,
} as const;
const INCOMPATIBLE = {
  dirty: 1n << 0n, // reference counts may be wrong; we need none
  corrupt: 1n << 1n,
  externalData: 1n << 2n,
  compressionType: 1n << 3n,
  extendedL2: 1n << 4n,
} as const;
/** Smaller clusters exist on paper; several of them share a page of the disk, which direct writes cannot. */
const MIN_CLUSTER_BITS = 12;
const OFFSET_MASK = 0x00fffffffffffe00n; // bits 9–55 of an L1 or standard L2 entry
const IS_COMPRESSED = 1n << 62n;
const READS_AS_ZERO = 1n;

/** Where every allocated part of a qcow2 file belongs, so that it can be streamed. Plain data: it goes to the thread that decodes. */
export interface Qcow2Map {
  facts: ExtentFacts;
  extents: { memory: SharedArrayBuffer; count: number };
  /** The first bytes of the disk, for the checks before anything is written. */
  head: Uint8Array;
}

export type ReadAt = (position: number, length: number) => Promise<Buffer>;

/** Reads the tables of a qcow2 file (and nothing else of it). */
export async function loadQcow2Map(readAt: ReadAt, headBytes: number): Promise<Qcow2Map> {
  const readWhole = async (position: number, length: number) => {
    const bytes = await readAt(position, length);
    if (bytes.length < length) throw truncated(position + length);
    return bytes;
  };
  const header = await readWhole(0, HEADER.end);
  const { clusterBits, virtualSize, l1Size, l1Offset, coding } = checkHeader(header);
  const clusterSize = 2 ** clusterBits;
  const entriesPerL2 = clusterSize / 8;
  const l1 = await readWhole(l1Offset, l1Size * 8);
  const l2Offsets = Array.from({ length: l1Size }, (_, i) => Number(l1.readBigUInt64BE(i * 8) & OFFSET_MASK));
  const tables = l2Offsets.filter((offset) => offset !== 0);
  // One small table named a million times would be a disk without end.
  if (new Set(tables).size < tables.length)
    throw new KindlingError('KND_IMAGE_CORRUPT', 'the qcow2 image names one of its tables twice');
  const clusters = Math.min(tables.length * entriesPerL2, Math.ceil(virtualSize / clusterSize));
  const facts = { clusterSize, virtualSize, coding };
  const extents = Qcow2Extents.forAtMost(clusters, facts);
  for (const [i, l2Offset] of l2Offsets.entries()) {
    if (l2Offset === 0) continue;
    const l2 = await readWhole(l2Offset, clusterSize);
    for (let j = 0; j < entriesPerL2; j += 1) {
      const cluster = i * entriesPerL2 + j;
      if (cluster * clusterSize < virtualSize)
        addCluster(extents, l2.readBigUInt64BE(j * 8), cluster, clusterBits);
    }
  }
  const head = await readHead(extents, readAt, Math.min(headBytes, virtualSize));
  extents.sortByHost();
  return { facts, extents: { memory: extents.memory, count: extents.count }, head };
}

function checkHeader(header: Buffer) {
  const version = header.readUInt32BE(HEADER.version);
  if (version !== 2 && version !== 3) throw unsupported(`version ${version}`);
  if (header.readBigUInt64BE(HEADER.backingFileOffset) !== 0n) throw unsupported('a backing file');
  if (header.readUInt32BE(HEADER.cryptMethod) !== 0) throw unsupported('encryption');
  const incompatible = version === 3 ? header.readBigUInt64BE(HEADER.incompatible) : 0n;
  if (incompatible & INCOMPATIBLE.corrupt) {
    throw new KindlingError('KND_IMAGE_CORRUPT', 'the qcow2 image is marked as corrupt');
  }
  if (incompatible & INCOMPATIBLE.externalData) throw unsupported('an external data file');
  if (incompatible & INCOMPATIBLE.extendedL2) throw unsupported('extended L2 entries');
  const known = Object.values(INCOMPATIBLE).reduce((all, bit) => all | bit, 0n);
  if (incompatible & ~known) throw unsupported('features that did not exist when this was written');
  const hasType = version === 3 && header.readUInt32BE(HEADER.headerLength) > HEADER.compressionType;
  const clusterBits = header.readUInt32BE(HEADER.clusterBits);
  const virtualSize = Number(header.readBigUInt64BE(HEADER.size));
  const l1Size = header.readUInt32BE(HEADER.l1Size);
  // an L1 entry covers at least 16 MiB; a table larger than the disk needs is damage
  const isSane =
    clusterBits >= 9 && clusterBits <= 21 && Number.isSafeInteger(virtualSize) && l1Size <= 4_194_304;
  if (!isSane) throw new KindlingError('KND_IMAGE_CORRUPT', 'the header of the qcow2 image makes no sense');
  if (clusterBits < MIN_CLUSTER_BITS) throw unsupported(`clusters of ${2 ** clusterBits} bytes`);
  return {
    clusterBits,
    virtualSize,
    l1Size,
    l1Offset: Number(header.readBigUInt64BE(HEADER.l1Offset)),
    coding: (hasType && header[HEADER.compressionType] === 1 ? 'zstd' : 'deflate') as 'zstd' | 'deflate',
  };
}

function addCluster(extents: Qcow2Extents, entry: bigint, cluster: number, clusterBits: number): void {
  if (entry & IS_COMPRESSED) {
    // the descriptor: offset in the low bits, then the number of further 512-byte sectors
    const offsetBits = BigInt(62 - (clusterBits - 8));
    const host = Number(entry & ((1n << offsetBits) - 1n));
    const sectors = Number((entry & (IS_COMPRESSED - 1n)) >> offsetBits) + 1;
    // what does not become smaller is stored as it is
    if (sectors * 512 > 2 ** clusterBits + 512) {
      throw new KindlingError('KND_IMAGE_CORRUPT', 'a compressed cluster of the qcow2 image is too long');
    }
    extents.addCompressed(cluster, host, sectors * 512 - (host % 512));
    return;
  }
  const host = Number(entry & OFFSET_MASK);
  if (host !== 0 && !(entry & READS_AS_ZERO)) extents.addPlain(cluster, host);
}

async function readHead(extents: Qcow2Extents, readAt: ReadAt, headBytes: number): Promise<Uint8Array> {
  const head = Buffer.alloc(headBytes);
  for (const { host, hostLength, guest, length, coding } of extents.byGuest()) {
    if (guest >= headBytes) break;
    const wanted = coding === 'plain' ? Math.min(hostLength, headBytes - guest) : hostLength;
    const stored = await readAt(host, wanted);
    const raw = coding === 'plain' ? stored : decompressCluster(stored, coding, extents.facts.clusterSize);
    raw.copy(head, guest, 0, Math.min(raw.length, length));
  }
  return head;
}

/** One compressed cluster; what follows it in its last sector belongs to the next one. */
export function decompressCluster(stored: Buffer, coding: 'deflate' | 'zstd', clusterSize: number): Buffer {
  try {
    return coding === 'deflate'
      ? inflateRawSync(stored, { finishFlush: zlib.Z_SYNC_FLUSH, maxOutputLength: clusterSize })
      : zstdDecompressSync(stored, { finishFlush: zlib.ZSTD_e_flush, maxOutputLength: clusterSize });
  } catch (cause) {
    throw new KindlingError('KND_IMAGE_CORRUPT', 'a compressed cluster of the qcow2 image is damaged', {
      cause,
    });
  }
}

const truncated = (end: number) =>
  new KindlingError('KND_IMAGE_TRUNCATED', `the qcow2 image ends before byte ${end}, where its tables go on`);

const unsupported = (what: string) =>
  new KindlingError('KND_IMAGE_UNSUPPORTED', `the qcow2 image has ${what}, which cannot be streamed`);
