import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { type BlockThreadTask, word } from './block-thread.ts';
import { BELL, DONE, FAILED, READY, SLOTS, STATE, STATUS } from './layout.ts';
import { type Machine, startMachine } from './machine.ts';

/** Decodes whatever is put into the slots, until it is terminated. */
function work({ code, memory }: BlockThreadTask, port: MessagePort): never {
  const words = new Int32Array(memory.buffer);
  const machine = startMachine(code, memory);
  port.postMessage('ready');
  let turn = 0;
  for (;;) {
    const bell = Atomics.load(words, BELL / 4);
    const slot = [turn, 1 - turn].find((one) => Atomics.load(words, word(one, STATE)) === READY);
    if (slot === undefined) {
      Atomics.wait(words, BELL / 4, bell);
      continue;
    }
    words[word(slot, STATUS)] = decode(machine, slot);
    Atomics.store(words, word(slot, STATE), DONE);
    Atomics.notify(words, word(slot, STATE));
    turn = (slot + 1) % SLOTS;
  }
}

function decode(machine: Machine, slot: number): number {
  try {
    return machine.decodeBlock(slot);
  } catch {
    return FAILED; // a trap of the machine: the coordinator says so, this thread could not be heard
  }
}

if (parentPort) work(workerData as BlockThreadTask, parentPort);
