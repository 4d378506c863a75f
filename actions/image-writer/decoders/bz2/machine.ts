import { compileModule, instantiate, type MachineCode, type MachineMemory } from '../web-assembly.ts';
import { MACHINE, PLAIN_MACHINE } from './generated/machine.ts';

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

export function compileMachine(): MachineCode {
  return compileModule(MACHINE) ?? compilePlainMachine();
}

/** For processors without vectors, such as the ones QEMU emulates unless it is told otherwise; half as fast. */
export function compilePlainMachine(): MachineCode {
  const code = compileModule(PLAIN_MACHINE);
  if (!code) throw new Error('this engine takes no WebAssembly with threads');
  return code;
}

export function startMachine(code: MachineCode, memory: MachineMemory): Machine {
  return instantiate(code, memory) as Machine;
}
