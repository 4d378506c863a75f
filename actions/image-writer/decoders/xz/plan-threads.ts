import { availableParallelism, totalmem } from 'node:os';
import type { BlockHeader } from './container.ts';
import { dictionaryTooLarge } from './errors.ts';
import { SLACK } from './layout.ts';
import { MAX_CHUNK_OUTPUT } from './lzma2.ts';

const MIB = 1024 * 1024;
/** More of them would be faster than the one thread that puts the bytes out. */
const MAX_THREADS = 6;
/** For all threads together, so that 512 MB of RAM are enough. */
const BUDGET = 96 * MIB;
/** Blocks are handed out in order, so a thread has work only if the block before its own has been read: compressed it should fit. */
const INPUT_SHARE = 0.3;
const LEAST_INPUT = 2 * MIB;
/** Room behind the dictionary of a file with one block. The less there is, the more often the dictionary is moved to the front. */
const LEAST_ROOM = 4 * MIB;
const LARGEST_ROOM = 32 * MIB;

/** xz makes no larger ones, and a thread's memory ends at 4 GiB. */
const LARGEST_DICTIONARY = 1536 * MIB;

/** How many threads decode, and how much memory each has for compressed bytes and for what they become. */
export interface ThreadPlan {
  count: number;
  inputBytes: number;
  windowBytes: number;
}

/** As many threads as there are cores, and memory for blocks like this one. */
export function planThreads(
  block: BlockHeader,
  { cores, memory } = { cores: availableParallelism(), memory: totalmem() },
): ThreadPlan {
  const dictionary = neededDictionary(block);
  if (dictionary > Math.min(memory / 2, LARGEST_DICTIONARY)) throw dictionaryTooLarge();
  const { uncompressedSize = Number.POSITIVE_INFINITY } = block;
  const inputBytes = Math.ceil(Math.max(LEAST_INPUT, uncompressedSize * INPUT_SHARE));
  const wholeBlock = Math.max(uncompressedSize + SLACK, leastWindow(block));
  const affordable = Math.floor(BUDGET / (inputBytes + wholeBlock));
  const count = Math.min(cores, MAX_THREADS, affordable);
  if (count > 1) {
    // bytes come out in order: a thread that is done early begins another block, if there is room (a spare thread instead gains nothing)
    const windowBytes = Math.min(2 * wholeBlock, Math.floor(BUDGET / count - inputBytes));
    return { count, inputBytes, windowBytes };
  }
  const room = Math.min(LARGEST_ROOM, Math.max(LEAST_ROOM, dictionary / 2));
  return { count: 1, inputBytes: LEAST_INPUT, windowBytes: dictionary + room };
}

/** The least memory for a block: what matches refer to, and a chunk. */
export function leastWindow(block: BlockHeader): number {
  return neededDictionary(block) + MAX_CHUNK_OUTPUT + SLACK;
}

/** Nothing refers to bytes before the block. */
function neededDictionary({ dictionary, uncompressedSize }: BlockHeader): number {
  return Math.min(dictionary, uncompressedSize ?? dictionary);
}
