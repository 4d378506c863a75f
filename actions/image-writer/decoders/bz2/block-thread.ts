import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { startWorker } from '../../../../system/worker.ts';
import { createMachineMemory, type MachineCode, type MachineMemory } from '../web-assembly.ts';
import {
  BELL,
  BLOCK_CRC,
  DONE,
  END_BIT,
  FAILED,
  FIRST_BIT,
  FREE,
  INPUT,
  INPUT_LENGTH,
  INPUT_STRIDE,
  MEMORY_BYTES,
  OUT,
  READY,
  SLOT_WORDS,
  SLOT_WORDS_BYTES,
  STATE,
  STATUS,
  TEXT_LENGTH,
} from './layout.ts';
import { type Machine, startMachine } from './machine.ts';

/** A block takes milliseconds, on an emulated processor a second. */
const PATIENCE_MS = 120_000;

/** What the thread is started with. */
export interface BlockThreadTask {
  code: MachineCode;
  memory: MachineMemory;
}

export interface DecodedBlock {
  status: number;
  /** Bits from the first byte of the input to the end of the block. */
  endBit: number;
  textLength: number;
  /** What the block says its CRC is. */
  crc: number;
}

/** A thread that decodes blocks, seen from the coordinator: it has two slots, and a memory that both look into. */
export class BlockThread {
  readonly #worker: Worker;
  readonly #bytes: Buffer;
  readonly #words: Int32Array;
  readonly #machine: Machine;

  private constructor(code: MachineCode, memory: MachineMemory) {
    this.#bytes = Buffer.from(memory.buffer);
    this.#words = new Int32Array(memory.buffer);
    this.#machine = startMachine(code, memory);
    this.#machine.prepare();
    const workerData: BlockThreadTask = { code, memory };
    this.#worker = startWorker('actions/image-writer/decoders/bz2/block.worker.ts', { workerData });
  }

  /** Started when it is there: the coordinator blocks, and would never hear that it failed. */
  static async start(code: MachineCode): Promise<BlockThread> {
    const thread = new BlockThread(code, createMachineMemory(MEMORY_BYTES));
    await once(thread.#worker, 'message');
    return thread;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  /** Has the bytes decoded, which hold a block from the given bit on. */
  submit(slot: number, bytes: Buffer, firstBit: number): void {
    bytes.copy(this.#bytes, INPUT + slot * INPUT_STRIDE);
    this.#words[word(slot, INPUT_LENGTH)] = bytes.length;
    this.#words[word(slot, FIRST_BIT)] = firstBit;
    Atomics.store(this.#words, word(slot, STATE), READY);
    Atomics.add(this.#words, BELL / 4, 1);
    Atomics.notify(this.#words, BELL / 4);
  }

  /** Blocks until the slot's block is decoded. */
  wait(slot: number): DecodedBlock {
    const state = word(slot, STATE);
    if (Atomics.wait(this.#words, state, READY, PATIENCE_MS) === 'timed-out') {
      throw new Error('a thread that decodes bzip2 does not answer');
    }
    const value = (offset: number) => (this.#words[word(slot, offset)] ?? 0) >>> 0;
    const status = value(STATUS);
    if (Atomics.load(this.#words, state) !== DONE || status === FAILED) {
      throw new Error('a thread that decodes bzip2 has failed');
    }
    return { status, endBit: value(END_BIT), textLength: value(TEXT_LENGTH), crc: value(BLOCK_CRC) };
  }

  release(slot: number): void {
    Atomics.store(this.#words, word(slot, STATE), FREE);
  }

  /** The bytes of a decoded block, in pieces that hold until the next one is asked for. */
  *expand(slot: number): Generator<Buffer> {
    this.#machine.beginExpanding(slot);
    for (let length = this.#machine.expand(); length > 0; length = this.#machine.expand()) {
      yield this.#bytes.subarray(OUT, OUT + length);
    }
  }

  /** CRC of all that was expanded. */
  get expandedCrc(): number {
    return this.#machine.finalCrc() >>> 0;
  }
}

/** Where a slot has a word of its own, as an index into all words. */
export function word(slot: number, offset: number): number {
  return (SLOT_WORDS + slot * SLOT_WORDS_BYTES + offset) / 4;
}
