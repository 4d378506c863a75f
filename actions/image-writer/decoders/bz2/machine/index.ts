import { DELETIONS, MOVES } from '../layout';
import { prepareCrc } from './crc';

export { decodeBlock } from './block';
export { finalCrc } from './crc';
export { beginExpanding, expand } from './expand';

/** Fills the tables that never change. */
export function prepare(): void {
  for (let symbol: u32 = 0; symbol < 32; symbol += 1) {
    // RUNA and RUNB move nothing, the others what is in the place before their number
    const place: u32 = symbol < 2 || symbol > 16 ? 0 : symbol - 1;
    for (let i: u32 = 0; i < 16; i += 1) {
      store<u8>(MOVES + symbol * 16 + i, i > place ? i : i === 0 ? place : i - 1);
    }
  }
  for (let gap: u32 = 0; gap < 16; gap += 1) {
    for (let i: u32 = 0; i < 16; i += 1) store<u8>(DELETIONS + gap * 16 + i, i < gap || i === 15 ? i : i + 1);
  }
  prepareCrc();
}
