import { CRC_RUN, CRC_TABLES } from '../layout';

/** bzip2 counts the bits of its CRC from the top. */
const POLYNOMIAL: u32 = 0x04c1_1db7;
const TABLE_BYTES: u32 = 1024;
/** Four equal bytes and 255 more: what a block of zeros is made of. */
export const LONGEST_RUN: u32 = 259;

// The register is kept with its bytes turned round, and so are the tables: then words can be added as they are loaded.
const START: u32 = 0xffff_ffff;

let crc: u32 = START;

export function resetCrc(): void {
  crc = START;
}

/** The CRC as a block of the file has it. */
export function finalCrc(): u32 {
  return ~bswap<u32>(crc);
}

export function prepareCrc(): void {
  for (let byte: u32 = 0; byte < 256; byte += 1) {
    let value = byte << 24;
    for (let bit = 0; bit < 8; bit += 1) value = (value << 1) ^ (value >> 31 ? POLYNOMIAL : 0);
    store<u32>(CRC_TABLES + byte * 4, bswap<u32>(value));
  }
  for (let table: u32 = 1; table < 16; table += 1) {
    for (let byte: u32 = 0; byte < 256; byte += 1) {
      const at = CRC_TABLES + table * TABLE_BYTES + byte * 4;
      store<u32>(at, advance(load<u32>(at - TABLE_BYTES), 0));
    }
  }
  // a CRC is linear: that of a run is the register advanced over zeros, plus what the run's byte adds
  for (let byte: u32 = 0; byte < 256; byte += 1) {
    for (let place: u32 = 0; place < 4; place += 1) {
      store<u32>(CRC_RUN + place * TABLE_BYTES + byte * 4, overRun(byte << (place * 8), 0));
    }
    store<u32>(CRC_RUN + 4 * TABLE_BYTES + byte * 4, overRun(0, byte));
  }
}

function overRun(register: u32, byte: u32): u32 {
  for (let i: u32 = 0; i < LONGEST_RUN; i += 1) register = advance(register, byte);
  return register;
}

function advance(register: u32, byte: u32): u32 {
  return (register >> 8) ^ load<u32>(CRC_TABLES + (((register & 0xff) ^ byte) << 2));
}

function lookUp(word: u32, first: u32): u32 {
  return (
    load<u32>(CRC_TABLES + (first - 0) * TABLE_BYTES + ((word & 0xff) << 2)) ^
    load<u32>(CRC_TABLES + (first - 1) * TABLE_BYTES + (((word >> 8) & 0xff) << 2)) ^
    load<u32>(CRC_TABLES + (first - 2) * TABLE_BYTES + (((word >> 16) & 0xff) << 2)) ^
    load<u32>(CRC_TABLES + (first - 3) * TABLE_BYTES + ((word >> 24) << 2))
  );
}

export function addToCrc(from: u32, end: u32): void {
  let register = crc;
  for (; from + 16 <= end; from += 16) {
    register =
      lookUp(load<u32>(from) ^ register, 15) ^
      lookUp(load<u32>(from, 4), 11) ^
      lookUp(load<u32>(from, 8), 7) ^
      lookUp(load<u32>(from, 12), 3);
  }
  for (; from < end; from += 1) register = advance(register, load<u8>(from));
  crc = register;
}

/** As if the longest run of this byte had been added. */
export function addLongestRun(byte: u32): void {
  const register = crc;
  crc =
    load<u32>(CRC_RUN + ((register & 0xff) << 2)) ^
    load<u32>(CRC_RUN + TABLE_BYTES + (((register >> 8) & 0xff) << 2)) ^
    load<u32>(CRC_RUN + 2 * TABLE_BYTES + (((register >> 16) & 0xff) << 2)) ^
    load<u32>(CRC_RUN + 3 * TABLE_BYTES + ((register >> 24) << 2)) ^
    load<u32>(CRC_RUN + 4 * TABLE_BYTES + (byte << 2));
}
