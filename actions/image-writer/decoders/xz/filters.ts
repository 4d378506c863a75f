import { damaged, unsupported } from './errors.ts';

/** One entry of a block's filter chain, as its header has it (xz-file-format 3.1.5). */
export interface FilterFlags {
  id: bigint;
  properties: Buffer;
}

/** A filter that the bytes went through before they were compressed. */
export type Filter = { kind: 'delta'; distance: number } | { kind: 'x86'; start: number };

/** Undoes a filter in place; answers how many bytes are done, the rest waits for those behind it. */
export type Undo = (bytes: Buffer) => number;

export interface FilterChain {
  /** Of LZMA2, which compresses and is always the last one. */
  dictionary: number;
  /** In the order in which they are undone. */
  filters: readonly Filter[];
}

const AGAIN = 'Compress it again with xz (without special filters), or with zstd.';

/** xz-file-format 5.3 */
const LZMA2 = 0x21n;
const DELTA = 0x03n;
const X86 = 0x04n;
/** For the code of other processors (5.3.2): an image of one of those is nothing a node here could start. */
const OTHER_PROCESSORS: ReadonlyMap<bigint, string> = new Map([
  [0x05n, 'PowerPC'],
  [0x06n, 'IA-64'],
  [0x07n, 'ARM'],
  [0x08n, 'ARM-Thumb'],
  [0x09n, 'SPARC'],
  [0x0an, 'ARM64'],
  [0x0bn, 'RISC-V'],
]);

/** Takes the chain as the header names it: the last filter is what the decoder undoes first. */
export function readFilterChain(chain: readonly FilterFlags[]): FilterChain {
  const [last, ...others] = chain.toReversed();
  if (last?.id !== LZMA2) throw unsupported('the image’s xz data is not compressed with LZMA2', AGAIN);
  return { dictionary: dictionarySize(last.properties), filters: others.map(readFilter) };
}

function readFilter({ id, properties }: FilterFlags): Filter {
  if (id === DELTA) {
    // 5.3.3: the distance less one
    if (properties.length !== 1) throw damaged('the properties of its delta filter are wrong');
    return { kind: 'delta', distance: properties.readUInt8() + 1 };
  }
  if (id === X86) {
    // 5.3.2: where the code begins, or nothing for 0
    if (properties.length === 0) return { kind: 'x86', start: 0 };
    if (properties.length !== 4) throw damaged('the properties of its x86 filter are wrong');
    return { kind: 'x86', start: properties.readUInt32LE() };
  }
  const processor = OTHER_PROCESSORS.get(id);
  throw unsupported(
    processor
      ? `the image’s xz data has a filter for ${processor} code`
      : `the image’s xz data has a filter of an unknown kind (0x${id.toString(16)})`,
    AGAIN,
  );
}

/** 5.3.1: the size is 2^n or 2^n + 2^(n-1); the largest one is one byte less than 4 GiB. */
function dictionarySize(properties: Buffer): number {
  const [code = 255] = properties;
  if (properties.length !== 1 || code > 40) throw damaged('a dictionary size is wrong');
  return code === 40 ? 2 ** 32 - 1 : (2 + (code % 2)) * 2 ** (Math.floor(code / 2) + 11);
}
