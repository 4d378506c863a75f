import { createHash } from 'node:crypto';

/** dm-verity on-disk format, version 1 (kernel documentation, verity; cryptsetup wiki, DMVerity): 4 KiB blocks, SHA-256. */
const BLOCK = 4096;
const DIGEST = 32;
const PER_BLOCK = BLOCK / DIGEST;
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
  const digestOf = (block: Buffer) => createHash('sha256').update(salt).update(block).digest();
  const leaves: Buffer[] = [];
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += BLOCK) leaves.push(digestOf(piece.subarray(at, at + BLOCK)));
  }
  const levels: Buffer[] = [];
  let digests = leaves;
  while (digests.length > 1) {
    const level = Buffer.alloc(Math.ceil(digests.length / PER_BLOCK) * BLOCK);
    for (const [index, digest] of digests.entries()) digest.copy(level, index * DIGEST);
    levels.unshift(level);
    digests = [];
    for (let at = 0; at < level.length; at += BLOCK) digests.push(digestOf(level.subarray(at, at + BLOCK)));
  }
  const superblock = encodeSuperblock({ dataBytes, salt, uuid });
  return {
    rootHash: (digests[0] ?? Buffer.alloc(0)).toString('hex'),
    bytes: Buffer.concat([superblock, ...levels]),
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
