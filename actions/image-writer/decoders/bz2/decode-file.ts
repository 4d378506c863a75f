import { KindlingError } from '../../../../protocol/error.ts';
import type { BlockOutput } from '../../stream/block-output.ts';
import type { RingReader } from '../../stream/ring.ts';
import { putOutBytes } from '../put-out-bytes.ts';
import { BlockQueue, type TakenBlock } from './block-queue.ts';
import type { BlockThread } from './block-thread.ts';
import { NEEDS_MORE, OK, RANDOMIZED } from './layout.ts';
import { BLOCK_MARK, END_MARK, MARK_BITS, MarkFinder } from './marks.ts';
import { Window } from './window.ts';

const CRC_BITS = 32;
const HEADER_BITS = 32;
const BLOCK_BYTES_PER_LEVEL = 100_000;

/** Cuts the file at the marks between its blocks, has them decoded by the threads, and puts them out in order. */
export async function decodeFile(
  threads: readonly BlockThread[],
  input: RingReader,
  output: BlockOutput,
  finder = new MarkFinder(),
): Promise<void> {
  const file = new Window(input, finder);
  const blocks = new BlockQueue(file, threads);
  try {
    let at = 0;
    do at = await decodeMember(at, file, blocks, output);
    while (hasAnotherMember(at, file));
  } finally {
    blocks.drain();
  }
}

/** From the header of a member to behind its end; answers where that is. */
async function decodeMember(
  start: number,
  file: Window,
  blocks: BlockQueue,
  output: BlockOutput,
): Promise<number> {
  const maxLength = readLevel(start, file) * BLOCK_BYTES_PER_LEVEL;
  let combinedCrc = 0;
  let at = start + HEADER_BITS;
  for (;;) {
    const mark = file.bits(at, MARK_BITS);
    const crc = file.bits(at + MARK_BITS, CRC_BITS);
    if (mark === undefined || crc === undefined) throw cutOff();
    if (mark === END_MARK) {
      if (crc !== combinedCrc) throw damaged('the CRC of a member is wrong');
      return Math.ceil((at + MARK_BITS + CRC_BITS) / 8) * 8;
    }
    if (mark !== BLOCK_MARK) throw damaged('no block begins where one should');
    const block = blocks.take(at);
    checkStatus(block, file);
    if (block.textLength > maxLength) throw damaged('a block is larger than its member allows');
    await putOut(block, output);
    combinedCrc = (((combinedCrc << 1) | (combinedCrc >>> 31)) ^ crc) >>> 0;
    at = block.end;
    blocks.release();
    file.forget(Math.floor(at / 8));
  }
}

/** "BZh", and the level as a digit. */
function readLevel(at: number, file: Window): number {
  for (const [i, letter] of [...'BZh'].entries()) {
    const found = file.bits(at + i * 8, 8);
    if (found === undefined) throw cutOff();
    if (found !== letter.charCodeAt(0)) throw damaged('something follows its end');
  }
  const level = file.bits(at + 24, 8);
  if (level === undefined) throw cutOff();
  if (level < 0x31 || level > 0x39) throw damaged('a member has no level');
  return level - 0x30;
}

/** Behind the last member zeros may fill a block up; anything else is a member, or one that has lost its name. */
function hasAnotherMember(at: number, file: Window): boolean {
  const first = file.bits(at, 8);
  if (first === undefined) return false;
  if (first !== 0) return true;
  let from = at / 8;
  do {
    if (file.bytes(from, file.end).some((byte) => byte !== 0)) throw damaged('something follows its end');
    from = file.end;
    file.forget(from);
  } while (file.fill(true));
  return false;
}

function checkStatus({ status }: TakenBlock, file: Window): void {
  if (status === OK) return;
  if (status === RANDOMIZED) {
    throw new KindlingError('KND_IMAGE_UNSUPPORTED', 'the image was compressed by a bzip2 before 0.9.5', {
      hint: 'Compress it again with a bzip2 of this century.',
    });
  }
  if (status === NEEDS_MORE && file.hasEnded && !endsWithMember(file)) throw cutOff();
  throw damaged('a block cannot be decoded');
}

/** A file that has its end is not cut off, even if a block goes on behind it. */
function endsWithMember({ lastMark, end }: Window): boolean {
  return lastMark?.isEnd === true && lastMark.bit + MARK_BITS + CRC_BITS <= end * 8;
}

async function putOut({ thread, slot, crc }: TakenBlock, output: BlockOutput): Promise<void> {
  for (const bytes of thread.expand(slot)) await putOutBytes(bytes, output);
  if (thread.expandedCrc !== crc) throw damaged('the CRC of a block is wrong');
}

const cutOff = () => new KindlingError('KND_IMAGE_TRUNCATED', 'the image ends in the middle of its bz2 data');

const damaged = (how: string) =>
  new KindlingError('KND_IMAGE_CORRUPT', `the image’s bz2 data is damaged: ${how}`);
