import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { BlockCheck } from './block-check.ts';
import { type ChunkThreadTask, recordAddress } from './chunk-thread.ts';
import {
  AFTER,
  CHECK,
  CONTROL,
  DONE,
  FAILED,
  GIVEN,
  INPUT_AT,
  INPUT_LENGTH,
  IS_FIRST,
  OK,
  OUTPUT_AT,
  OUTPUT_LENGTH,
  STATUS,
  TAKEN,
  WRONG_CHECK,
} from './layout.ts';
import { startMachine } from './machine.ts';

/** Does what the records say, one after the other, until it is terminated. */
function work({ code, memory }: ChunkThreadTask, port: MessagePort): never {
  const words = new Int32Array(memory.buffer);
  const bytes = Buffer.from(memory.buffer);
  const machine = startMachine(code, memory);
  machine.prepare();
  const check = new BlockCheck(machine, bytes);
  port.postMessage('ready');
  for (let done = 0; ; ) {
    waitFor(words, GIVEN, done + 1);
    const record = recordAddress(done);
    waitFor(words, TAKEN, words[(record + AFTER) / 4] ?? 0);
    words[(record + STATUS) / 4] = carryOut(record);
    done += 1;
    Atomics.store(words, DONE / 4, done);
    Atomics.notify(words, DONE / 4);
  }

  function carryOut(record: number): number {
    const value = (offset: number) => words[(record + offset) / 4] ?? 0;
    const input = value(INPUT_AT);
    const output = value(OUTPUT_AT);
    try {
      if (bytes[record + IS_FIRST]) check.begin(bytes[record + CHECK] ?? 0);
      if (bytes[record + CONTROL] === 0) {
        return check.is(bytes.subarray(input, input + value(INPUT_LENGTH))) ? OK : WRONG_CHECK;
      }
      const status = machine.decodeChunk(record);
      check.add(output, output + value(OUTPUT_LENGTH));
      return status;
    } catch {
      return FAILED; // a trap of the machine: the coordinator says so, this thread could not be heard
    }
  }
}

function waitFor(words: Int32Array, word: number, least: number): void {
  for (;;) {
    const value = Atomics.load(words, word / 4);
    if (value >= least) return;
    Atomics.wait(words, word / 4, value);
  }
}

if (parentPort) work(workerData as ChunkThreadTask, parentPort);
