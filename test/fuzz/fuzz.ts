import { isNativeError } from 'node:util/types';
import { getHeapStatistics } from 'node:v8';
import fc, { type Arbitrary } from 'fast-check';
import { breakInPlace, mutate, pagesOf, randomOf } from './mutate.ts';
import { type FieldEdit, fieldEdits } from './structured.ts';
import { editFields } from './structures.ts';
import type { FuzzTarget } from './targets.ts';

export interface Finding {
  target: string;
  what: string;
  /** The input, to be run again. */
  input: Buffer;
}

const LONGEST_MS = 1000;
const LARGE_BYTES = 64 * 1024;
const LARGEST_GROWTH_BYTES = 64 * 1024 * 1024;
/** Errors of the language: a parser that throws one did not see what it was given. */
const DEFECTS = [TypeError, RangeError, ReferenceError, SyntaxError, URIError];

/** Feeds a target with inputs until one crashes it, takes more than a second or 64 MB. */
export class Fuzzer {
  readonly target: FuzzTarget;
  count = 0;
  finding: Finding | undefined;
  readonly #random: (below: number) => number;
  readonly #pages: Map<Buffer, number[]>;
  readonly #shaped: (() => Buffer) | undefined;
  readonly #edits: () => FieldEdit[];

  constructor(target: FuzzTarget, seed: number) {
    this.target = target;
    this.#random = randomOf(seed);
    const large = target.goods.filter(({ length }) => length > LARGE_BYTES);
    this.#pages = new Map(large.map((image) => [image, pagesOf(image)]));
    this.#shaped = target.structured && sampler(target.structured, seed);
    this.#edits = sampler(fieldEdits, seed);
  }

  /** Goes on where it stopped, as long as it may and nothing was found. */
  async run(goesOn: (count: number) => boolean, watch: (input: Buffer) => void = () => {}): Promise<this> {
    const { target } = this;
    if (this.count === 0) await attempt(target, this.#good()); // the first call loads code
    for (; !this.finding && goesOn(this.count); this.count += 1) {
      const { input, mend } = this.#next();
      watch(input);
      const what = await attempt(target, input);
      if (what) this.finding = { target: target.name, what, input: Buffer.from(input) };
      mend?.();
    }
    return this;
  }

  /** In turns: a good one with broken bytes, one of the right shape, and one of the right shape with broken bytes. */
  #next(): { input: Buffer; mend?: () => void } {
    const { goods, structures } = this.target;
    const image = this.#good();
    const parts = structures?.(image) ?? [];
    const isLarge = image.length > LARGE_BYTES;
    if (parts.length > 0 && this.#random(3) > 0) {
      const input = isLarge ? image : Buffer.from(image);
      const part = (isLarge ? parts : (structures?.(input) ?? []))[this.#random(parts.length)];
      if (part) return { input, mend: editFields(input, part, this.#edits()) };
    }
    if (isLarge)
      return { input: image, mend: breakInPlace(image, this.#pages.get(image) ?? [], this.#random) };
    if (this.#shaped && this.#random(3) > 0) {
      const input = this.#shaped();
      return { input: this.#random(2) === 0 ? input : mutate(input, image, this.#random) };
    }
    const good = goods[this.count];
    return { input: good && good.length <= LARGE_BYTES ? good : mutate(image, this.#good(), this.#random) };
  }

  #good(): Buffer {
    return this.target.goods[this.#random(this.target.goods.length)] ?? Buffer.alloc(0);
  }
}

/** One value after the other, the same for the same seed; made in batches, as fast-check does it fastest. */
function sampler<T>(arbitrary: Arbitrary<T>, seed: number): () => T {
  let batch: T[] = [];
  let batches = 0;
  return () => {
    if (batch.length === 0) {
      batch = fc.sample(arbitrary, { seed: seed + batches, numRuns: 64 });
      batches += 1;
    }
    const value = batch.pop();
    if (value === undefined) throw new Error('fast-check made nothing');
    return value;
  };
}

async function attempt(target: FuzzTarget, input: Buffer): Promise<string | undefined> {
  const bytesBefore = held();
  const startedAt = process.cpuUsage();
  try {
    await target.run(input);
  } catch (thrown) {
    if (!isNativeError(thrown)) return `threw ${String(thrown)}`;
    const isDefect = DEFECTS.some((kind) => thrown instanceof kind) && !target.mayThrow?.(thrown);
    if (isDefect) return `${thrown.stack}`;
  }
  const { user } = process.cpuUsage(startedAt);
  // CPU, not wall time: the machine may be busy with something else.
  if (user / 1000 > LONGEST_MS) return `took ${Math.round(user / 1000)} ms`;
  const growth = held() - bytesBefore;
  return growth > LARGEST_GROWTH_BYTES ? `took ${Math.round(growth / 2 ** 20)} MB` : undefined;
}

/** Bytes of objects and of buffers: what a wrong length or count asks for shows here at once. */
function held(): number {
  const { external_memory: buffers, used_heap_size: objects } = getHeapStatistics();
  return buffers + objects;
}
