import { createMachineMemory, type MachineCode } from '../web-assembly.ts';
import { BlockCheck } from './block-check.ts';
import { wrongCheck } from './errors.ts';
import type { Filter, Undo } from './filters.ts';
import { INPUT } from './layout.ts';
import { MAX_CHUNK_OUTPUT } from './lzma2.ts';
import { startMachine } from './machine.ts';
import { undoDelta } from './undo-delta.ts';
import { undoX86 } from './undo-x86.ts';

/** What is to be done with a chunk of a filtered block, or at its end. */
export interface FilteredPart {
  filters: readonly Filter[];
  check: number;
  isFirst: boolean;
  /** At the end of the block, behind its last chunk. */
  expectedCheck?: Buffer;
}

interface Stage {
  undo: Undo;
  /** What the filter could not decide yet: less than an instruction. */
  waiting: Buffer;
}

/** Room before a chunk for what its stages still have of the one before it. */
const ROOM_BEFORE = 64;

/**
 * Undoes the filters of a block, and checks it: the check is of the filtered bytes. The threads cannot do it where they decode, because later
 * chunks refer to what was compressed. Blocks come out one after the other, so that one of these is enough.
 */
export class UndoFilters {
  readonly #bytes: Buffer;
  readonly #check: BlockCheck;
  #stages: Stage[] = [];

  constructor(code: MachineCode) {
    const memory = createMachineMemory(INPUT + ROOM_BEFORE + MAX_CHUNK_OUTPUT);
    const machine = startMachine(code, memory);
    machine.prepare();
    this.#bytes = Buffer.from(memory.buffer);
    this.#check = new BlockCheck(machine, this.#bytes);
  }

  /** Takes what a thread has decoded and answers what can be put out, until the next call. */
  undo(part: FilteredPart, bytes: Buffer): Buffer {
    if (part.isFirst) this.#begin(part);
    bytes.copy(this.#bytes, INPUT + ROOM_BEFORE);
    const undone = this.#run(bytes.length, part.expectedCheck !== undefined);
    if (part.expectedCheck && !this.#check.is(part.expectedCheck)) throw wrongCheck();
    return undone;
  }

  #begin({ filters, check }: FilteredPart): void {
    this.#check.begin(check);
    this.#stages = filters.map((filter) => ({
      undo: filter.kind === 'delta' ? undoDelta(filter.distance) : undoX86(filter.start),
      waiting: Buffer.alloc(0),
    }));
  }

  /** At the end of a block nothing waits any more: what is too short for an instruction is as it was. */
  #run(length: number, isEnd: boolean): Buffer {
    let from = INPUT + ROOM_BEFORE;
    let to = from + length;
    for (const stage of this.#stages) {
      from -= stage.waiting.length;
      stage.waiting.copy(this.#bytes, from);
      const done = from + stage.undo(this.#bytes.subarray(from, to));
      stage.waiting = Buffer.from(this.#bytes.subarray(isEnd ? to : done, to));
      if (!isEnd) to = done;
    }
    this.#check.add(from, to);
    return this.#bytes.subarray(from, to);
  }
}
