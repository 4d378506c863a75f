import {
  BLOCK_CRC,
  DAMAGED,
  END_BIT,
  FIRST_BIT,
  INPUT,
  INPUT_LENGTH,
  INPUT_STRIDE,
  LIST,
  OK,
  RANDOMIZED,
  SELECTORS,
  SLOT_WORDS,
  SLOT_WORDS_BYTES,
  TEXT,
  TEXT_LENGTH,
  TEXT_STRIDE,
} from '../layout';
import { bits, bitsTaken, drop, judge, openBits, refill, take } from './bits';
import { readCodes } from './codes';
import { unpackSymbols } from './symbols';
import { unpackSymbolsPlainly } from './symbols-plain';
import { followRows, sortRows } from './transform';

const MARK_BITS: u32 = 48;
const MAX_TABLES: u32 = 6;
/** More selectors than 900,000 symbols need may be there; they mean nothing. */
const USEFUL_SELECTORS: u32 = 18_002;

let tableCount: u32 = 0;
let selectorCount: u32 = 0;
let usedBytes: u32 = 0;

/** One block, from its mark to the text that is still run-length encoded. */
export function decodeBlock(slot: u32): i32 {
  const words = SLOT_WORDS + slot * SLOT_WORDS_BYTES;
  openBits(INPUT + slot * INPUT_STRIDE, load<u32>(words, INPUT_LENGTH), load<u32>(words, FIRST_BIT));
  take(MARK_BITS / 2);
  take(MARK_BITS / 2);
  store<u32>(words, take(32), BLOCK_CRC);
  if (take(1)) return judge(RANDOMIZED);
  const firstRow = take(24);
  let status = readList();
  if (status === OK) status = readSelectors();
  for (let table: u32 = 0; table < tableCount && status === OK; table += 1) {
    status = readCodes(table, usedBytes + 2);
  }
  if (status !== OK) return status;
  const unpacked = ASC_FEATURE_SIMD ? unpackSymbols(selectorCount) : unpackSymbolsPlainly(selectorCount);
  if (unpacked < 0) return -unpacked;
  const length: u32 = unpacked;
  if (firstRow >= length) return DAMAGED;
  store<u32>(words, bitsTaken(), END_BIT);
  store<u32>(words, length, TEXT_LENGTH);
  sortRows(length);
  followRows(length, firstRow, TEXT + slot * TEXT_STRIDE);
  return OK;
}

/** Which bytes there are: 16 bits for 16 ranges, then 16 bits for each range that has some. */
function readList(): i32 {
  const ranges = take(16);
  usedBytes = 0;
  for (let range: u32 = 0; range < 16; range += 1) {
    if (!((ranges >> (15 - range)) & 1)) continue;
    const used = take(16);
    for (let i: u32 = 0; i < 16; i += 1) {
      if (!((used >> (15 - i)) & 1)) continue;
      store<u8>(LIST + usedBytes, range * 16 + i);
      usedBytes += 1;
    }
  }
  return usedBytes === 0 ? judge(DAMAGED) : OK;
}

/** Which table of codes each group of 50 symbols uses, by the place of the table in a list whose last used one is in front. */
function readSelectors(): i32 {
  tableCount = take(3);
  selectorCount = take(15);
  if (tableCount < 2 || tableCount > MAX_TABLES || selectorCount === 0) return judge(DAMAGED);
  let order: u64 = 0x0504_0302_0100;
  for (let i: u32 = 0; i < selectorCount; i += 1) {
    refill();
    const place = <u32>clz(~bits);
    if (place >= tableCount) return judge(DAMAGED);
    drop(place + 1);
    const shift: u64 = place * 8;
    const table = (order >> shift) & 0xff;
    const before = order & (((<u64>1) << shift) - 1);
    order = (((order >> shift) >> 8) << (shift + 8)) | (before << 8) | table;
    if (i < USEFUL_SELECTORS) store<u8>(SELECTORS + i, <u32>table);
  }
  selectorCount = min(selectorCount, USEFUL_SELECTORS);
  return judge(OK);
}
