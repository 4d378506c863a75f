import { BYTES, COUNTS, LANE_STRIDE, LANES, ROWS, STARTS } from '../layout';
import { storeFour } from './vectors';

/** Bit 31 of a row says that a lane starts here; the rest is its number then, and the row itself is kept with the start. */
const MARK: u32 = 0x8000_0000;
const LANE_COUNT: u32 = 8;
/** An entry is the offset of the next row, four bytes each, and a byte below. */
const ONE_ROW: u32 = 4 << 8;
/** Per start: its row, where its segment lies, how long that is, and the start it runs into. */
const START_BYTES: u32 = 16;
const SEGMENT: u32 = 4;
const LENGTH: u32 = 8;
const FOLLOWER: u32 = 12;
/** Per lane: what it read last, its start, and the step it began at. */
const LANE_BYTES: u32 = 12;
const LANE_START: u32 = 4;
const LANE_FROM: u32 = 8;

let startCount: u32 = 0;
let started: u32 = 0;
let active: u32 = 0;
/** The row that points to itself, for lanes that have nothing to do. */
let idleRow: u32 = 0;

/** Rows in the order of their first byte: each holds that byte and where the row lies that continues it, as an offset in bytes. */
export function sortRows(length: u32): void {
  let sum: u32 = ROWS;
  for (let byte: u32 = 0; byte < 256; byte += 1) {
    const count = load<u32>(COUNTS + (byte << 2));
    store<u32>(COUNTS + (byte << 2), sum);
    sum += count << 2;
  }
  let i: u32 = 0;
  while (i < length) {
    // the sorted text is full of runs, and a counter that was just written is slow to read
    const four = load<u32>(BYTES + i);
    if (four === rotl<u32>(four, 8) && i + 4 <= length) {
      const place = reserve(four & 0xff, 4);
      storeFour(place, entryOf(i, four & 0xff), ONE_ROW);
      i += 4;
      continue;
    }
    for (const end = min(i + 4, length); i < end; i += 1) {
      const byte: u32 = load<u8>(BYTES + i);
      store<u32>(reserve(byte, 1), entryOf(i, byte));
    }
  }
}

function entryOf(row: u32, byte: u32): u32 {
  return row * ONE_ROW + byte;
}

/** Where the next rows that begin with a byte belong. */
function reserve(byte: u32, rows: u32): u32 {
  const counter = COUNTS + (byte << 2);
  const place = load<u32>(counter);
  store<u32>(counter, place + (rows << 2));
  return place;
}

/**
 * The inverse transform follows one chain of rows all over the memory, each step a cache miss that has to be waited for. Here the
 * chain is cut at many rows that are marked beforehand, and eight lanes follow eight pieces of it at once; the pieces are strung
 * together afterwards. Rows are a permutation whatever the input is, so no two pieces overlap.
 */
export function followRows(length: u32, first: u32, text: u32): void {
  const firstStart = markStarts(length, first);
  idleRow = entryOf(length, 0);
  store<u32>(ROWS + (length << 2), idleRow);
  walk();
  stringTogether(firstStart, text, length);
}

function markStarts(length: u32, first: u32): u32 {
  startCount = 0;
  let step: u32 = 64;
  while (length / step > 512) step <<= 1;
  for (let row: u32 = 0; row < length; row += step) markStart(row);
  const entry = load<u32>(ROWS + (first << 2));
  if (entry & MARK) return entry ^ MARK;
  markStart(first);
  return startCount - 1;
}

function markStart(row: u32): void {
  const at = ROWS + (row << 2);
  store<u32>(STARTS + startCount * START_BYTES, load<u32>(at));
  store<u32>(at, MARK | startCount);
  startCount += 1;
}

/** All lanes step by step, until one or several arrive at a start; the last one goes on alone. */
function walk(): void {
  started = 0;
  active = 0;
  let to: u32 = BYTES;
  for (let lane: u32 = 0; lane < LANE_COUNT; lane += 1) begin(lane, to);
  while (active > 1) {
    let v0 = load<u32>(LANES, 0);
    let v1 = load<u32>(LANES, 12);
    let v2 = load<u32>(LANES, 24);
    let v3 = load<u32>(LANES, 36);
    let v4 = load<u32>(LANES, 48);
    let v5 = load<u32>(LANES, 60);
    let v6 = load<u32>(LANES, 72);
    let v7 = load<u32>(LANES, 84);
    do {
      store<u8>(to, v0);
      store<u8>(to, v1, LANE_STRIDE * 1);
      store<u8>(to, v2, LANE_STRIDE * 2);
      store<u8>(to, v3, LANE_STRIDE * 3);
      store<u8>(to, v4, LANE_STRIDE * 4);
      store<u8>(to, v5, LANE_STRIDE * 5);
      store<u8>(to, v6, LANE_STRIDE * 6);
      store<u8>(to, v7, LANE_STRIDE * 7);
      to += 1;
      v0 = load<u32>(v0 >> 8, ROWS);
      v1 = load<u32>(v1 >> 8, ROWS);
      v2 = load<u32>(v2 >> 8, ROWS);
      v3 = load<u32>(v3 >> 8, ROWS);
      v4 = load<u32>(v4 >> 8, ROWS);
      v5 = load<u32>(v5 >> 8, ROWS);
      v6 = load<u32>(v6 >> 8, ROWS);
      v7 = load<u32>(v7 >> 8, ROWS);
    } while (<i32>(v0 | v1 | v2 | v3 | v4 | v5 | v6 | v7) >= 0);
    store<u32>(LANES, v0, 0);
    store<u32>(LANES, v1, 12);
    store<u32>(LANES, v2, 24);
    store<u32>(LANES, v3, 36);
    store<u32>(LANES, v4, 48);
    store<u32>(LANES, v5, 60);
    store<u32>(LANES, v6, 72);
    store<u32>(LANES, v7, 84);
    arrive(to);
  }
  if (active === 1) walkAlone(to);
}

function walkAlone(to: u32): void {
  for (let lane: u32 = 0; lane < LANE_COUNT; lane += 1) {
    const at = LANES + lane * LANE_BYTES;
    let v = load<u32>(at);
    if (v === idleRow) continue;
    let end = to + lane * LANE_STRIDE;
    do {
      store<u8>(end, v);
      end += 1;
      v = load<u32>(v >> 8, ROWS);
    } while (!(v & MARK));
    finish(at, v, end);
  }
}

/** Lanes that have come to a start give their segment away and take the next one. */
function arrive(to: u32): void {
  for (let lane: u32 = 0; lane < LANE_COUNT; lane += 1) {
    const at = LANES + lane * LANE_BYTES;
    const v = load<u32>(at);
    if (!(v & MARK)) continue;
    finish(at, v, to + lane * LANE_STRIDE);
    active -= 1;
    begin(lane, to);
  }
}

function begin(lane: u32, to: u32): void {
  const at = LANES + lane * LANE_BYTES;
  if (started === startCount) {
    store<u32>(at, idleRow);
    return;
  }
  store<u32>(at, load<u32>(STARTS + started * START_BYTES));
  store<u32>(at, started, LANE_START);
  store<u32>(at, <u32>(to + lane * LANE_STRIDE), LANE_FROM);
  started += 1;
  active += 1;
}

function finish(lane: u32, arrivedAt: u32, end: u32): void {
  const start = STARTS + load<u32>(lane, LANE_START) * START_BYTES;
  const from = load<u32>(lane, LANE_FROM);
  store<u32>(start, from, SEGMENT);
  store<u32>(start, <u32>end - from, LENGTH);
  store<u32>(start, arrivedAt ^ MARK, FOLLOWER);
}

/** Text that repeats itself has a shorter chain than it has bytes: it is gone round as often as needed. */
function stringTogether(firstStart: u32, text: u32, length: u32): void {
  let start = firstStart;
  let left = length;
  while (left > 0) {
    const at = STARTS + start * START_BYTES;
    const segment = min(left, load<u32>(at, LENGTH));
    memory.copy(text, load<u32>(at, SEGMENT), segment);
    text += segment;
    left -= segment;
    start = load<u32>(at, FOLLOWER);
  }
}
