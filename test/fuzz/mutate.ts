/** Numbers that lengths, counts and offsets are wrong with. */
export const EDGES = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];
export const WORDS = [
  '%s',
  '{{',
  '$(',
  "'",
  '"',
  '\n',
  '\0',
  '\u202e',
  '\x1b[2J',
  '../',
  '-1',
  '1e999',
  '[[[[[[',
  '{"a":',
];

/** Small random numbers that come again with their seed (mulberry32). */
export function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(1, below);
  };
}

/** A broken copy of a good input: bits turned, edge numbers put in, pieces cut, doubled, moved or taken from another. */
export function mutate(good: Buffer, other: Buffer, random: (below: number) => number): Buffer {
  let bytes: Buffer = Buffer.from(good);
  for (let times = 1 + random(4); times > 0; times -= 1) bytes = mutateOnce(bytes, other, random);
  return bytes;
}

function mutateOnce(bytes: Buffer, other: Buffer, random: (below: number) => number): Buffer {
  const at = random(bytes.length);
  const to = at + random(Math.min(64, bytes.length - at) + 1);
  switch (random(9)) {
    case 0:
      if (bytes.length > 0) bytes.writeUInt8((bytes[at] ?? 0) ^ (1 << random(8)), at);
      return bytes;
    case 1:
      if (bytes.length > 0) bytes.writeUInt8(random(256), at);
      return bytes;
    case 2: {
      const edge = EDGES[random(EDGES.length)] ?? 0;
      if (at + 4 > bytes.length) return bytes;
      if (random(2) === 0) bytes.writeUInt32LE(edge >>> 0, at);
      else bytes.writeUInt32BE(edge >>> 0, at);
      return bytes;
    }
    case 3:
      return bytes.subarray(0, at);
    case 4:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
    case 5:
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    case 6: {
      const from = random(other.length);
      return Buffer.concat([
        bytes.subarray(0, at),
        other.subarray(from, from + random(256)),
        bytes.subarray(to),
      ]);
    }
    case 7:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(WORDS[random(WORDS.length)] ?? ''),
        bytes.subarray(to),
      ]);
    default:
      bytes.fill(random(2) === 0 ? 0 : 0xff, at, to);
      return bytes;
  }
}

const PAGE = 512;

/** The parts of an image that hold something: what is zero everywhere is not worth breaking. */
export function pagesOf(image: Buffer): number[] {
  const zeros = Buffer.alloc(PAGE);
  const starts = Array.from({ length: Math.floor(image.length / PAGE) }, (_, index) => index * PAGE);
  return starts.filter((start) => !image.subarray(start, start + PAGE).equals(zeros));
}

/** Breaks an image where it is, because a copy of it would take longer than reading it. Gives what mends it again. */
export function breakInPlace(
  image: Buffer,
  pages: readonly number[],
  random: (below: number) => number,
): () => void {
  const start = pages[random(pages.length)] ?? 0;
  const page = image.subarray(start, start + PAGE);
  const before = Buffer.from(page);
  for (let times = 1 + random(4); times > 0; times -= 1) {
    const at = random(PAGE - 4);
    const edge = EDGES[random(EDGES.length)] ?? 0;
    if (random(3) === 0) page.writeUInt32LE(edge, at);
    else if (random(2) === 0) page.writeUInt32BE(edge, at);
    else page.writeUInt8(random(256), at);
  }
  return () => void before.copy(page);
}
