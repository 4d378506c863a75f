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
    Instance: new (code: MachineCode, imports: { env: { memory: MachineMemory } }) => { exports: unknown };
  };
}
const { WebAssembly } = globalThis as unknown as WithWebAssembly;

const PAGE = 65_536;

/** Compiled once; what the engine finds out about hot loops then holds for all threads. Undefined if this processor cannot run it. */
export function compileModule(base64: string): MachineCode | undefined {
  const bytes = Buffer.from(base64, 'base64');
  return WebAssembly.validate(bytes) ? new WebAssembly.Module(bytes) : undefined;
}

/** The memory of one thread. Only what is used of it is ever there. Huge pages were measured: they change nothing. */
export function createMachineMemory(bytes: number): MachineMemory {
  const pages = Math.ceil(bytes / PAGE);
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
}

/** What the module exports, working on this memory. */
export function instantiate(code: MachineCode, memory: MachineMemory): unknown {
  return new WebAssembly.Instance(code, { env: { memory } }).exports;
}
