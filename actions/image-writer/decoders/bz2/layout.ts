// The memory of one decoder thread, all of it at fixed addresses: an address that the compiler knows costs nothing. Read by the
// machine (AssemblyScript) and by the threads around it (TypeScript), so there are plain numbers here and nothing else.

/** A block holds 100,000 bytes per level of its member. */
export const MAX_BLOCK: u32 = 900_000;
/** Worst-case compressed size of a block: the longest codes and the largest tables. A longer one is corrupt. */
export const MAX_INPUT: u32 = 2_400_000;

/** Each thread works on one block while another one waits, or is taken over by the coordinator. */
export const SLOTS: u32 = 2;

/** Words that tell the thread and the coordinator about each other; each slot has a row of them. The bell rings for new work. */
export const BELL: u32 = 0x400;
export const SLOT_WORDS: u32 = 0x440;
export const SLOT_WORDS_BYTES: u32 = 0x40;
export const STATE: u32 = 0;
export const INPUT_LENGTH: u32 = 4;
export const FIRST_BIT: u32 = 8;
export const STATUS: u32 = 12;
export const END_BIT: u32 = 16;
export const TEXT_LENGTH: u32 = 20;
export const BLOCK_CRC: u32 = 24;

/** States of a slot. */
export const FREE: u32 = 0;
export const READY: u32 = 1;
export const DONE: u32 = 2;

/** What became of a block. */
export const OK: u32 = 0;
/** It goes on behind the bytes that were given. */
export const NEEDS_MORE: u32 = 1;
export const DAMAGED: u32 = 2;
/** The "randomized" flag of bzip2 before 0.9.5. */
export const RANDOMIZED: u32 = 3;
/** The thread itself has failed. */
export const FAILED: u32 = 4;

// tables that never change
export const MOVES: u32 = 0x1000; // 32 vectors: for each of the first symbols, how it moves the first row of the list
export const DELETIONS: u32 = 0x1200; // 16 vectors: a row without one of its bytes
export const CRC_TABLES: u32 = 0x2000; // 16 tables of 256 words
export const CRC_RUN: u32 = 0x6000; // 4 tables that advance a CRC over one run of the longest kind, and one for its byte

// what belongs to the block at hand
export const LIST: u32 = 0x8000; // the 256 bytes of the move-to-front list
export const COUNTS: u32 = 0x8400; // 256 words
export const LENGTHS: u32 = 0x8800; // code lengths of one table
export const LANES: u32 = 0x8a00; // what each lane of the transform is at
export const STARTS: u32 = 0x9000; // start rows of the transform and their segments
export const CODES: u32 = 0x10000; // 6 tables of codes
export const SELECTORS: u32 = 0x20000;

/**
 * The input back to front, so that one load gives eight bytes in the order of the bits; it ends here. What runs out of input
 * reads on below, a list of selectors up to 25,000 bytes far: this is the room for it.
 */
export const REVERSED_TOP: u32 = 0x280000;
/** Successors: four bytes per row of the transform. */
export const ROWS: u32 = 0x400000;
/** What the move-to-front list gives; afterwards the lanes of the transform, each as long as a block. */
export const BYTES: u32 = 0x780000;
export const LANE_STRIDE: u32 = 0xe0000;
/** Where the last step puts bytes; only the coordinator does that. */
export const OUT: u32 = 0xe80000;
export const OUT_BYTES: u32 = 0x20000;
/** Per slot: the block as it was in the file, and its text. */
export const INPUT: u32 = 0xec0000;
export const INPUT_STRIDE: u32 = 0x260000;
export const TEXT: u32 = 0x1380000;
export const TEXT_STRIDE: u32 = 0xe0000;
export const MEMORY_BYTES: u32 = 0x1540000;
