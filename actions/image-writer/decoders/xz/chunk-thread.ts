import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { startWorker } from '../../../../system/worker.ts';
import { createMachineMemory, type MachineCode, type MachineMemory } from '../web-assembly.ts';
import {
  AFTER,
  CHECK,
  CONTROL,
  DONE,
  FAILED,
  GIVEN,
  INPUT,
  INPUT_AT,
  INPUT_LENGTH,
  IS_FIRST,
  KEEP,
  OUTPUT_AT,
  OUTPUT_LENGTH,
  PROPERTIES,
  RECORD_BYTES,
  RECORD_COUNT,
  RECORDS,
  STATUS,
  TAKEN,
} from './layout.ts';
import type { ThreadPlan } from './plan-threads.ts';
import { type Place, Regions } from './regions.ts';

/** A chunk takes milliseconds, on an emulated processor a second. */
const PATIENCE_MS = 120_000;

/** What the thread is started with. */
export interface ChunkThreadTask {
  code: MachineCode;
  memory: MachineMemory;
}

/** A chunk, or with control byte 0 the end of a block; its input has been put where `reserveInput` said. */
export interface Order {
  control: number;
  properties: number;
  check: number;
  isFirst: boolean;
  outputLength: number;
  /** How many bytes before it matches may refer to. */
  keep: number;
}

/** What a thread was given to do, and where the result will be. */
export interface Job {
  thread: ChunkThread;
  record: number;
  at: number;
  length: number;
}

/**
 * A thread that decodes chunks, seen from the coordinator. It gets them one by one and works on what it has, as long as there is room
 * for the output: all of it is in one memory that both look into, and where in it the coordinator says.
 */
export class ChunkThread {
  readonly #worker: Worker;
  readonly #bytes: Buffer;
  readonly #words: Int32Array;
  readonly #input: Regions;
  readonly #output: Regions;
  #given = 0;
  #taken = 0;
  #reserved: (Place & { length: number }) | undefined;

  private constructor(code: MachineCode, { inputBytes, windowBytes }: ThreadPlan) {
    const memory = createMachineMemory(INPUT + inputBytes + windowBytes);
    this.#bytes = Buffer.from(memory.buffer);
    this.#words = new Int32Array(memory.buffer);
    this.#input = new Regions(INPUT, inputBytes);
    this.#output = new Regions(INPUT + inputBytes, windowBytes);
    const workerData: ChunkThreadTask = { code, memory };
    this.#worker = startWorker('actions/image-writer/decoders/xz/chunk.worker.ts', { workerData });
  }

  /** Started when it is there: the coordinator blocks, and would never hear that it failed. */
  static async start(code: MachineCode, plan: ThreadPlan): Promise<ChunkThread> {
    const thread = new ChunkThread(code, plan);
    await once(thread.#worker, 'message');
    return thread;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  /** Where the input of the next order belongs; undefined as long as there is no room. */
  reserveInput(length: number): Buffer | undefined {
    const done = Atomics.load(this.#words, DONE / 4);
    this.#input.release(done);
    this.#reserved ??= { ...this.#input.place(this.#given, length), length };
    if (this.#reserved.after > done || this.#given - this.#taken === RECORD_COUNT) return undefined;
    const { at } = this.#reserved;
    return this.#bytes.subarray(at, at + length);
  }

  give({ control, properties, check, isFirst, outputLength, keep }: Order): Job {
    const input = this.#reserved;
    if (!input) throw new Error('no input was reserved');
    this.#reserved = undefined;
    const record = this.#given;
    const output =
      outputLength > 0 ? this.#output.place(record, outputLength, keep) : { at: INPUT, after: 0 };
    const address = recordAddress(record);
    this.#bytes[address + CONTROL] = control;
    this.#bytes[address + PROPERTIES] = properties;
    this.#bytes[address + CHECK] = check;
    this.#bytes[address + IS_FIRST] = isFirst ? 1 : 0;
    const set = (offset: number, value: number) => {
      this.#words[(address + offset) / 4] = value;
    };
    set(INPUT_AT, input.at);
    set(INPUT_LENGTH, input.length);
    set(OUTPUT_AT, output.at);
    set(OUTPUT_LENGTH, outputLength);
    set(KEEP, keep);
    set(AFTER, output.after);
    this.#given += 1;
    this.#announce(GIVEN, this.#given);
    return { thread: this, record, at: output.at, length: outputLength };
  }

  /** Blocks until the record is done, and answers its status. */
  wait(record: number): number {
    for (;;) {
      const done = Atomics.load(this.#words, DONE / 4);
      if (done > record) break;
      if (Atomics.wait(this.#words, DONE / 4, done, PATIENCE_MS) === 'timed-out') {
        throw new Error('a thread that decodes xz does not answer');
      }
    }
    const status = this.#words[(recordAddress(record) + STATUS) / 4] ?? FAILED;
    if (status === FAILED) throw new Error('a thread that decodes xz has failed');
    return status;
  }

  /** What a job that is done has made; until it is released. */
  bytes({ at, length }: Job): Buffer {
    return this.#bytes.subarray(at, at + length);
  }

  /** Done with all that was made up to this record. */
  release(record: number): void {
    this.#taken = record + 1;
    this.#output.release(this.#taken);
    this.#announce(TAKEN, this.#taken);
  }

  /** Waits for what nobody will take any more; the thread is free then. */
  drain(): void {
    if (this.#given > 0) {
      this.release(this.#given - 1);
      this.wait(this.#given - 1);
    }
    this.#reserved = undefined;
    this.#input.release(this.#given + 1); // with what was reserved, and never given
  }

  #announce(word: number, value: number): void {
    Atomics.store(this.#words, word / 4, value);
    Atomics.notify(this.#words, word / 4);
  }
}

export function recordAddress(record: number): number {
  return RECORDS + (record % RECORD_COUNT) * RECORD_BYTES;
}
