// The memory of one decoder thread. What the machine (AssemblyScript) uses all the time is at fixed addresses: an address that the
// compiler knows costs nothing. Read by the threads around it (TypeScript) too, so there are plain numbers here and nothing else.

/** Words that tell the thread and the coordinator about each other: how many records were given, done, and taken over again. */
export const GIVEN: u32 = 0x400;
export const DONE: u32 = 0x440;
export const TAKEN: u32 = 0x480;

/** Each record is one LZMA2 chunk to be decoded, or the end of a block. They are used in turn. */
export const RECORDS: u32 = 0x14000;
export const RECORD_BYTES: u32 = 32;
export const RECORD_COUNT: u32 = 1024;
/** Four bytes: LZMA2's control byte (0 at the end of a block), its properties, what check the block has, and whether it begins here. */
export const CONTROL: u32 = 0;
export const PROPERTIES: u32 = 1;
export const CHECK: u32 = 2;
export const IS_FIRST: u32 = 3;
export const INPUT_AT: u32 = 4;
export const INPUT_LENGTH: u32 = 8;
export const OUTPUT_AT: u32 = 12;
export const OUTPUT_LENGTH: u32 = 16;
/** If the output does not follow the last one: how much of that is moved to the bytes before it, because matches may refer to it. */
export const KEEP: u32 = 20;
/** How many records must have been taken over before there is room for the output. */
export const AFTER: u32 = 24;
export const STATUS: u32 = 28;

/** What became of a record. */
export const OK: u32 = 0;
export const DAMAGED: u32 = 1;
export const WRONG_CHECK: u32 = 2;
/** The thread itself has failed. */
export const FAILED: u32 = 3;

// Probabilities, 16 bits each, under their names in the LZMA specification.
export const IS_MATCH: u32 = 0x1000; // 12 states, 16 positions
export const IS_REP0_LONG: u32 = 0x1200; // likewise
export const IS_REP: u32 = 0x1400; // 12 states
export const IS_REP_G0: u32 = 0x1420;
export const IS_REP_G1: u32 = 0x1440;
export const IS_REP_G2: u32 = 0x1460;
export const POS_SLOT: u32 = 0x1480; // 4 trees of 64
export const POS_SPECIAL: u32 = 0x1680; // 115
export const ALIGN: u32 = 0x1780; // a tree of 16
export const LENGTH: u32 = 0x1800; // two choices, 16 trees of 8 for short and for middle lengths, one of 256 for long ones
export const REP_LENGTH: u32 = 0x1c40; // likewise
export const LITERAL: u32 = 0x2100; // 16 sets of 0x300
export const PROBABILITIES_END: u32 = 0x8100;

// tables that never change
export const CRC_TABLES: u32 = 0xa000; // 8 tables of 256 double words
export const CRC_ZEROS: u32 = 0xe000; // 8 tables that advance a CRC over a run of zeros

/** Here the input begins, and behind it the window; how large they are depends on the file. */
export const INPUT: u32 = 0x20000;
/** Matches are copied eight bytes at a time, so up to seven bytes behind their end are overwritten. */
export const SLACK: u32 = 16;
