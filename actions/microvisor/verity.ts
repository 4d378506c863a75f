import { hash } from 'node:crypto';

/** dm-verity on-disk format, version 1 (kernel documentation, verity; cryptsetup wiki, DMVerity): 4 KiB blocks, SHA-256. */
const BLOCK = 4096;
const DIGEST = 32;
const PER_BLOCK = BLOCK / DIGEST;
const ZEROS = Buffer.alloc(BLOCK);
/** Offsets in the superblock. */
const SUPER = {
  signature: 0, // "verity"
  version: 8,
  hashType: 12,
  uuid: 16,
  algorithm: 32,
  dataBlockSize: 64,
  hashBlockSize: 68,
  dataBlocks: 72,
  saltSize: 80,
  salt: 88,
} as const;

export interface VerityParameters {
  dataBytes: number;
  salt: Buffer;
  /** 16 bytes. */
  uuid: Buffer;
}

export interface VerityTree {
  rootHash: string;
  /** The whole hash device: superblock, then the levels, the top one first. */
  bytes: Buffer;
}

/** How large the hash device for this data is. */
export function verityBytes(dataBytes: number): number {
  let bytes = BLOCK;
  for (let blocks = Math.ceil(dataBytes / BLOCK); blocks > 1; blocks = Math.ceil(blocks / PER_BLOCK)) {
    bytes += Math.ceil(blocks / PER_BLOCK) * BLOCK;
  }
  return bytes;
}

/** Builds the hash tree over data that comes in pieces of whole blocks, so that a root of gigabytes needs megabytes of memory. */
export async function buildVerityTree(
  pieces: AsyncIterable<Buffer>,
  { dataBytes, salt, uuid }: VerityParameters,
): Promise<VerityTree> {
  const digestOf = saltedDigest(salt);
  const ofZeros = digestOf(ZEROS);
  let level = levelFor(dataBytes / BLOCK);
  let blocks = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += BLOCK) {
      const block = piece.subarray(at, at + BLOCK);
      // Free space is mostly zeros, and to compare is ten times as quick as to hash.
      (block.equals(ZEROS) ? ofZeros : digestOf(block)).copy(level, blocks++ * DIGEST);
    }
  }
  const levels: Buffer[] = [];
  while (blocks > 1) {
    levels.unshift(level);
    const above = levelFor(level.length / BLOCK);
    blocks = 0;
    for (let at = 0; at < level.length; at += BLOCK) {
      digestOf(level.subarray(at, at + BLOCK)).copy(above, blocks++ * DIGEST);
    }
    level = above;
  }
  const superblock = encodeSuperblock({ dataBytes, salt, uuid });
  return {
    rootHash: level.toString('hex', 0, blocks * DIGEST),
    bytes: Buffer.concat([superblock, ...levels]),
  };
}

/** A level of the tree, still empty, for the digests of this many blocks. */
const levelFor = (blocks: number) => Buffer.alloc(Math.ceil(blocks / PER_BLOCK) * BLOCK);

/** One call for salt and block: an object for each of the hundred thousands of hashes costs more than the hash. */
function saltedDigest(salt: Buffer): (block: Buffer) => Buffer {
  const salted = Buffer.alloc(salt.length + BLOCK);
  salt.copy(salted);
  return (block) => {
    block.copy(salted, salt.length);
    return hash('sha256', salted, 'buffer');
  };
}

function encodeSuperblock({ dataBytes, salt, uuid }: VerityParameters): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write('verity', SUPER.signature, 'latin1');
  block.writeUInt32LE(1, SUPER.version);
  block.writeUInt32LE(1, SUPER.hashType);
  uuid.copy(block, SUPER.uuid);
  block.write('sha256', SUPER.algorithm, 'latin1');
  block.writeUInt32LE(BLOCK, SUPER.dataBlockSize);
  block.writeUInt32LE(BLOCK, SUPER.hashBlockSize);
  block.writeBigUInt64LE(BigInt(dataBytes / BLOCK), SUPER.dataBlocks);
  block.writeUInt16LE(salt.length, SUPER.saltSize);
  salt.copy(block, SUPER.salt);
  return block;
}
