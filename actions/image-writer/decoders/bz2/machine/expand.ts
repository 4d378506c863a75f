import { OUT, OUT_BYTES, SLOT_WORDS, SLOT_WORDS_BYTES, TEXT, TEXT_LENGTH, TEXT_STRIDE } from '../layout';
import { addLongestRun, addToCrc, LONGEST_RUN, resetCrc } from './crc';
import { copy16, fill16, findRuns } from './vectors';

let from: u32 = 0;
let textEnd: u32 = 0;

/** The last step of a block: four equal bytes are followed by how many more there are. */
export function beginExpanding(slot: u32): void {
  const text = TEXT + slot * TEXT_STRIDE;
  from = text;
  textEnd = text + load<u32>(SLOT_WORDS + slot * SLOT_WORDS_BYTES, TEXT_LENGTH);
  // behind the text no byte equals the one before it, so no run goes beyond the end
  const lastByte = load<u8>(textEnd - 1);
  for (let i: u32 = 0; i < 32; i += 1) store<u8>(textEnd + i, i & 1 ? lastByte : ~lastByte);
  resetCrc();
}

/** Fills the output, which has room for one run more than it is filled to; answers how many bytes that were, 0 at the end. */
export function expand(): u32 {
  let at = from;
  let to: u32 = OUT;
  let added: u32 = OUT;
  const end = textEnd;
  while (at < end && to < OUT + OUT_BYTES) {
    const runs = findRuns(at);
    copy16(to, at);
    if (runs === 0) {
      const step = min(16, end - at);
      at += step;
      to += step;
      continue;
    }
    const before = ctz(runs);
    const byte: u32 = load<u8>(at + before);
    at += before + 4;
    to += before;
    const more: u32 = at < end ? load<u8>(at) : 0;
    at += 1;
    const run = more + 4;
    const runEnd = to + run;
    if (run === LONGEST_RUN) {
      addToCrc(added, to);
      addLongestRun(byte);
      added = runEnd;
    }
    for (; to < runEnd; to += 16) fill16(to, byte);
    to = runEnd;
  }
  addToCrc(added, to);
  from = at;
  return <u32>(to - OUT);
}
