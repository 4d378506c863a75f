import { native } from './native.ts';

const PAGE = 65_536;
const HUGE_PAGE = 2 * 1024 * 1024;
/** sys/mman.h: huge pages, please. */
const MADV_HUGEPAGE = 14;

/** The compiler's ES library does not know WebAssembly, and the one that does brings the whole browser. */
interface WithWebAssembly {
  WebAssembly: { Memory: new (limits: { initial: number }) => { buffer: ArrayBuffer } };
}

/**
 * Page-aligned memory, as O_DIRECT needs it. WebAssembly.Memory is the one thing in plain JavaScript that is
 * always mapped on a page boundary. Large memory is asked for in huge pages: what is decompressed jumps to and fro in it.
 */
export function alignedMemory(bytes: number): Buffer {
  const { WebAssembly } = globalThis as unknown as WithWebAssembly;
  const isLarge = bytes >= HUGE_PAGE;
  const room = isLarge ? bytes + HUGE_PAGE : bytes;
  const memory = Buffer.from(new WebAssembly.Memory({ initial: Math.ceil(room / PAGE) }).buffer);
  const c = isLarge ? native() : undefined;
  if (!c) return memory.subarray(0, bytes);
  const address = c.addressOf(memory);
  const start = Number(-address & BigInt(HUGE_PAGE - 1));
  c.functions.madvise(address + BigInt(start), BigInt(bytes), MADV_HUGEPAGE); // a kernel without them says no, and that is fine
  return memory.subarray(start, start + bytes);
}
