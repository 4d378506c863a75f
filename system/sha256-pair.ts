import { closeSync, openSync, readSync } from 'node:fs';
import { openNativeLibrary } from './native-library.ts';

/**
 * One SHA-256 with the processor's own instructions waits for itself: each of its rounds needs the one before. Two at once do not
 * wait for each other: 3.0 GB/s instead of 1.6. OpenSSL has that for TLS records, as a function that takes whole blocks of
 * four messages; it is no part of its public interface, so it is only used where it proves that it is what we know.
 */
export type PairHasher = (first: Buffer, second: Buffer) => [Buffer, Buffer];

/** (context, descriptions, groups of four messages) */
const FUNCTIONS = {
  sha256_multi_block: { arguments: ['buffer', 'buffer', 'int32'], return: 'void' },
} as const;

const BLOCK = 64;
const DIGEST_WORDS = 8;
/** The context holds each word of the state for eight messages side by side. */
const LANES = 8;
/** Address (8 bytes) and number of blocks (4 bytes, 4 of padding) of a message. */
const DESCRIPTION = 16;
const GROUP = 4;
/** FIPS 180-4, 5.3.3. */
const INITIAL = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/** Undefined where the processor or the library cannot do it. */
export function createPairHasher(sha256: (bytes: Buffer) => Buffer): PairHasher | undefined {
  // without these instructions it is not faster, and on a processor without SSSE3 it is an illegal instruction
  if (!hasShaInstructions()) return undefined;
  const library = openNativeLibrary(null, FUNCTIONS);
  if (!library) return undefined;
  const { ffi, functions } = library;
  const context = alignedBuffer(DIGEST_WORDS * LANES * 4, (view) => ffi.getRawPointer(view));
  const descriptions = Buffer.alloc(GROUP * DESCRIPTION);

  const addBlocks = (messages: readonly Buffer[]) => {
    for (const [lane, message] of messages.entries()) {
      descriptions.writeBigUInt64LE(ffi.getRawPointer(message), lane * DESCRIPTION);
      descriptions.writeInt32LE(Math.floor(message.length / BLOCK), lane * DESCRIPTION + 8);
    }
    functions.sha256_multi_block(context, descriptions, 1);
  };
  const digest = (lane: number) => {
    const words = Buffer.alloc(DIGEST_WORDS * 4);
    for (let word = 0; word < DIGEST_WORDS; word += 1) {
      words.writeUInt32BE(context.readUInt32LE((word * LANES + lane) * 4), word * 4);
    }
    return words;
  };
  const hashPair: PairHasher = (first, second) => {
    for (let i = 0; i < DIGEST_WORDS * LANES; i += 1) {
      context.writeUInt32LE(INITIAL[Math.floor(i / LANES)] ?? 0, i * 4);
    }
    addBlocks([first, second]);
    addBlocks([lastBlocks(first), lastBlocks(second)]);
    return [digest(0), digest(1)];
  };
  return isRight(hashPair, sha256) ? hashPair : undefined;
}

/** What is left after the whole blocks, with the padding and the length in bits. */
function lastBlocks(message: Buffer): Buffer {
  const rest = message.length % BLOCK;
  const blocks = Buffer.alloc(rest < BLOCK - 8 ? BLOCK : 2 * BLOCK);
  message.copy(blocks, 0, message.length - rest);
  blocks[rest] = 0x80;
  blocks.writeBigUInt64BE(BigInt(message.length) * 8n, blocks.length - 8);
  return blocks;
}

/** A pair of unlike lengths, with more than one block each. */
function isRight(hashPair: PairHasher, sha256: (bytes: Buffer) => Buffer): boolean {
  const pair = [Buffer.alloc(1000, 'kindling'), Buffer.alloc(315, 'sha-256')] as const;
  const found = hashPair(...pair);
  return pair.every((message, index) => found[index]?.equals(sha256(message)));
}

function alignedBuffer(bytes: number, addressOf: (view: Buffer) => bigint): Buffer {
  const memory = Buffer.alloc(bytes + BLOCK);
  const start = Number(-addressOf(memory) & BigInt(BLOCK - 1));
  return memory.subarray(start, start + bytes);
}

/** The first processor speaks for all; the file has a few thousand bytes for each. */
function hasShaInstructions(): boolean {
  const text = Buffer.alloc(4096);
  try {
    const file = openSync('/proc/cpuinfo', 'r');
    const length = readSync(file, text);
    closeSync(file);
    return /^flags\s*:.*\bsha_ni\b/m.test(text.toString('latin1', 0, length));
  } catch {
    return false;
  }
}
