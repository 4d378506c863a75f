const PAGE = 65_536;

/** The compiler's ES library does not know WebAssembly, and the one that does brings the whole browser. */
interface WithWebAssembly {
  WebAssembly: { Memory: new (limits: { initial: number }) => { buffer: ArrayBuffer } };
}

/**
 * Page-aligned memory, as O_DIRECT needs it. WebAssembly.Memory is the one thing in plain JavaScript that is
 * always mapped on a page boundary.
 */
export function alignedMemory(bytes: number): Buffer {
  const { WebAssembly } = globalThis as unknown as WithWebAssembly;
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) });
  return Buffer.from(memory.buffer, 0, bytes);
}
