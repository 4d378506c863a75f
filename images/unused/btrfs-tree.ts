import { crc32c } from './crc32c.ts';
import { doubtUnless, type PartitionReader, safeNumber } from './file-system.ts';

/** A run of logical addresses and where it lies on the device, once or twice. */
export interface Chunk {
  start: number;
  length: number;
  stripes: number[];
}

interface Key {
  id: bigint;
  type: number;
  offset: bigint;
}
const KEY_BYTES = 17;

/** Where a tree or a part of it starts, and which node has to lie there. */
export interface TreeRoot {
  place: number;
  level: number;
  generation: bigint;
}

/** btrfs_chunk. */
const CHUNK = {
  length: 0,
  type: 24,
  stripeCount: 44,
  stripes: 48,
  stripeBytes: 32,
  stripeOffset: 8,
} as const;
/** Profile bits of a chunk's type: DUP is the only one on a single device that only repeats. */
const PROFILES = 0xfffffff8n;
const PROFILE_DUP = 0x20n;

export function readChunkItem(start: number, data: Buffer): Chunk {
  const profile = data.readBigUInt64LE(CHUNK.type) & PROFILES;
  const count = data.readUInt16LE(CHUNK.stripeCount);
  const isPlain = (profile === 0n && count === 1) || (profile === PROFILE_DUP && count === 2);
  doubtUnless(isPlain, 'it is striped');
  const stripes = Array.from({ length: count }, (_, stripe) =>
    safeNumber(data.readBigUInt64LE(CHUNK.stripes + stripe * CHUNK.stripeBytes + CHUNK.stripeOffset)),
  );
  return { start, length: safeNumber(data.readBigUInt64LE(CHUNK.length)), stripes };
}

/** The superblock's own list: key, chunk, key, chunk, … */
export function readSystemChunks(list: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = 0; at + KEY_BYTES + CHUNK.stripes <= list.length; ) {
    const { offset } = readKey(list, at);
    const chunk = readChunkItem(safeNumber(offset), list.subarray(at + KEY_BYTES));
    chunks.push(chunk);
    at += KEY_BYTES + CHUNK.stripes + chunk.stripes.length * CHUNK.stripeBytes;
  }
  return chunks.sort((a, b) => a.start - b.start);
}

/** The chunk that holds all of these logical bytes; chunks are sorted. */
export function chunkOf(chunks: readonly Chunk[], start: number, length: number): Chunk {
  let [low, high] = [0, chunks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunks[middle]?.start ?? 0) <= start) low = middle + 1;
    else high = middle;
  }
  const chunk = chunks[low - 1];
  doubtUnless(
    chunk !== undefined && start + length <= chunk.start + chunk.length,
    'its chunks make no sense',
  );
  return chunk;
}

/** btrfs_header, then keys with pointers (inner nodes) or with places of data counted from the header's end (leaves). */
const NODE = {
  checked: 32,
  uuid: 32,
  place: 48,
  generation: 80,
  items: 96,
  level: 100,
  header: 101,
  pointerBytes: 33,
  itemBytes: 25,
} as const;

/** Walks trees; every node must be whole and the one its parent means. */
export class TreeReader {
  /** Sorted by logical address. */
  chunks: readonly Chunk[];
  readonly #partition: PartitionReader;
  readonly #nodeSize: number;
  readonly #uuid: Buffer;

  constructor(
    partition: PartitionReader,
    facts: { nodeSize: number; uuid: Buffer; chunks: readonly Chunk[] },
  ) {
    doubtUnless(facts.nodeSize >= 4096 && facts.nodeSize <= 65_536, 'its layout makes no sense');
    this.#partition = partition;
    this.#nodeSize = facts.nodeSize;
    this.#uuid = facts.uuid;
    this.chunks = facts.chunks;
  }

  async walk(
    root: TreeRoot,
    take: (key: Key, data: Buffer) => void,
    /** A tree names each of its nodes once: eight levels that name one node 400 times each would never end. */
    seen = new Set<number>(),
  ): Promise<void> {
    doubtUnless(!seen.has(root.place), 'a node of its trees is named twice');
    seen.add(root.place);
    const node = await this.#node(root);
    const items = node.readUInt32LE(NODE.items);
    const itemBytes = root.level > 0 ? NODE.pointerBytes : NODE.itemBytes;
    doubtUnless(NODE.header + items * itemBytes <= node.length, 'a node of its trees makes no sense');
    for (let item = 0; item < items; item += 1) {
      const at = NODE.header + item * itemBytes;
      const rest = at + KEY_BYTES;
      if (root.level > 0) {
        await this.walk(
          {
            place: safeNumber(node.readBigUInt64LE(rest)),
            level: root.level - 1,
            generation: node.readBigUInt64LE(rest + 8),
          },
          take,
          seen,
        );
        continue;
      }
      const from = NODE.header + node.readUInt32LE(rest);
      const to = from + node.readUInt32LE(rest + 4);
      doubtUnless(to <= node.length, 'a node of its trees makes no sense');
      take(readKey(node, at), node.subarray(from, to));
    }
  }

  async #node(wanted: TreeRoot): Promise<Buffer> {
    const chunk = chunkOf(this.chunks, wanted.place, this.#nodeSize);
    const [stripe = 0] = chunk.stripes;
    const node = await this.#partition.read(stripe + wanted.place - chunk.start, this.#nodeSize);
    const isWanted =
      crc32c(node.subarray(NODE.checked)) === node.readUInt32LE(0) &&
      node.subarray(NODE.uuid, NODE.uuid + 16).equals(this.#uuid) &&
      node.readBigUInt64LE(NODE.place) === BigInt(wanted.place) &&
      node.readBigUInt64LE(NODE.generation) === wanted.generation &&
      node.readUInt8(NODE.level) === wanted.level;
    doubtUnless(isWanted, 'a node of its trees is not the one it should be');
    return node;
  }
}

const readKey = (bytes: Buffer, at: number): Key => ({
  id: bytes.readBigUInt64LE(at),
  type: bytes.readUInt8(at + 8),
  offset: bytes.readBigUInt64LE(at + 9),
});
