import { CRC_TABLES, CRC_ZEROS } from '../layout';

/** ECMA-182, as xz counts it: the lowest bit first (xz-file-format 6). */
const POLYNOMIAL: u64 = (0xc96c_5795 << 32) | 0xd787_0f42;
const TABLE_BYTES: u32 = 2048;
/** Zeros that advance the register by one look into the tables; half of an image is zeros. */
const RUN: u32 = 512;

let register: u64 = ~0;

export function beginCrc64(): void {
  register = ~0;
}

export function finalCrc64(): u64 {
  return ~register;
}

/** Fills the tables. */
export function prepare(): void {
  for (let byte: u32 = 0; byte < 256; byte += 1) {
    let value: u64 = byte;
    for (let bit = 0; bit < 8; bit += 1) value = (value >> 1) ^ (value & 1 ? POLYNOMIAL : 0);
    store<u64>(CRC_TABLES + byte * 8, value);
  }
  for (let table: u32 = 1; table < 8; table += 1) {
    for (let byte: u32 = 0; byte < 256; byte += 1) {
      const at = CRC_TABLES + table * TABLE_BYTES + byte * 8;
      store<u64>(at, advance(load<u64>(at - TABLE_BYTES), 0));
    }
  }
  // a CRC is linear: the register over zeros is the sum of what becomes of each of its bytes
  for (let place: u32 = 0; place < 8; place += 1) {
    for (let byte: u32 = 0; byte < 256; byte += 1) {
      let value = (<u64>byte) << (place * 8);
      for (let i: u32 = 0; i < RUN; i += 8) value = advanceEight(value, CRC_TABLES);
      store<u64>(CRC_ZEROS + (7 - place) * TABLE_BYTES + byte * 8, value);
    }
  }
}

export function addToCrc64(from: u32, end: u32): void {
  let value = register;
  while (end - from >= 2 * RUN) {
    const stop = from + RUN;
    if (areZeros(from)) {
      value = advanceEight(value, CRC_ZEROS);
      from = stop;
      continue;
    }
    // each step waits for the one before it: two runs side by side take hardly longer than one
    let second: u64 = 0;
    for (; from < stop; from += 8) {
      value = advanceEight(value ^ load<u64>(from), CRC_TABLES);
      second = advanceEight(second ^ load<u64>(from, RUN), CRC_TABLES);
    }
    value = advanceEight(value, CRC_ZEROS) ^ second;
    from += RUN;
  }
  for (; from < end; from += 1) value = advance(value, load<u8>(from));
  register = value;
}

function areZeros(from: u32): bool {
  if (load<u64>(from)) return false;
  let sum: u64 = 0;
  for (let at: u32 = 0; at < RUN; at += 32) {
    sum |=
      load<u64>(from + at) | load<u64>(from + at, 8) | load<u64>(from + at, 16) | load<u64>(from + at, 24);
  }
  return sum === 0;
}

function advance(value: u64, byte: u32): u64 {
  return (value >> 8) ^ load<u64>(CRC_TABLES + (((<u32>value ^ byte) & 0xff) << 3));
}

/** The lowest byte goes into the last table: it has the longest way. */
function advanceEight(value: u64, tables: u32): u64 {
  const low = <u32>value;
  const high = <u32>(value >> 32);
  return (
    load<u64>(tables + ((low & 0xff) << 3), 7 * TABLE_BYTES) ^
    load<u64>(tables + (((low >> 8) & 0xff) << 3), 6 * TABLE_BYTES) ^
    load<u64>(tables + (((low >> 16) & 0xff) << 3), 5 * TABLE_BYTES) ^
    load<u64>(tables + ((low >> 24) << 3), 4 * TABLE_BYTES) ^
    load<u64>(tables + ((high & 0xff) << 3), 3 * TABLE_BYTES) ^
    load<u64>(tables + (((high >> 8) & 0xff) << 3), 2 * TABLE_BYTES) ^
    load<u64>(tables + (((high >> 16) & 0xff) << 3), TABLE_BYTES) ^
    load<u64>(tables + ((high >> 24) << 3))
  );
}
