import { native } from '../../target/native.ts';
import { MACHINE, PLAIN_MACHINE } from './generated/machine.ts';
import { MEMORY_BYTES, ROWS, ROWS_BYTES } from './layout.ts';

const PAGE = 65_536;
/** sys/mman.h: huge pages, please. */
const MADV_HUGEPAGE = 14;

/** What machine/index.ts exports. */
export interface Machine {
  /** Fills the tables that never change. */
  prepare(): void;
  /** Decodes the block in a slot and answers its status. */
  decodeBlock(slot: number): number;
  beginExpanding(slot: number): void;
  /** Puts the next bytes of the block at OUT and answers how many; 0 at its end. */
  expand(): number;
  /** CRC of all bytes that were expanded. */
  finalCrc(): number;
}

/** A module of WebAssembly, as it is passed from thread to thread. */
export type MachineCode = object;
export interface MachineMemory {
  buffer: SharedArrayBuffer;
}

/** The compiler's ES library does not know WebAssembly, and the one that does brings the whole browser. */
interface WithWebAssembly {
  WebAssembly: {
    Module: new (bytes: Uint8Array) => MachineCode;
    validate: (bytes: Uint8Array) => boolean;
    Memory: new (limits: { initial: number; maximum: number; shared: true }) => MachineMemory;
    Instance: new (code: MachineCode, imports: { env: { memory: MachineMemory } }) => { exports: Machine };
  };
}
const { WebAssembly } = globalThis as unknown as WithWebAssembly;

/** Compiled once; what the engine finds out about hot loops then holds for all threads. */
export function compileMachine(): MachineCode {
  const bytes = Buffer.from(MACHINE, 'base64');
  return WebAssembly.validate(bytes) ? new WebAssembly.Module(bytes) : compilePlainMachine();
}

/** For processors without vectors, such as the ones QEMU emulates unless it is told otherwise; half as fast. */
export function compilePlainMachine(): MachineCode {
  return new WebAssembly.Module(Buffer.from(PLAIN_MACHINE, 'base64'));
}

/** The memory of one thread. Only what is used of it is ever there; the rows, which are jumped about in, in huge pages. */
export function createMachineMemory(): MachineMemory {
  const pages = MEMORY_BYTES / PAGE;
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  const c = native();
  if (c) {
    const address = c.addressOf(Buffer.from(memory.buffer));
    c.functions.madvise(address + BigInt(ROWS), BigInt(ROWS_BYTES), MADV_HUGEPAGE); // a kernel without them says no
  }
  return memory;
}

export function startMachine(code: MachineCode, memory: MachineMemory): Machine {
  return new WebAssembly.Instance(code, { env: { memory } }).exports;
}
