import { compileModule, instantiate, type MachineCode, type MachineMemory } from '../web-assembly.ts';
import { MACHINE } from './generated/machine.ts';

/** What machine/index.ts exports. */
export interface Machine {
  /** Fills the tables that never change. */
  prepare(): void;
  /** Decodes the LZMA2 chunk of the record at this address and answers its status. */
  decodeChunk(record: number): number;
  beginCrc64(): void;
  /** Adds the bytes from one address to another. */
  addToCrc64(from: number, end: number): void;
  finalCrc64(): bigint;
}

export function compileMachine(): MachineCode {
  const code = compileModule(MACHINE);
  if (!code) throw new Error('this engine takes no WebAssembly with threads');
  return code;
}

export function startMachine(code: MachineCode, memory: MachineMemory): Machine {
  return instantiate(code, memory) as Machine;
}
