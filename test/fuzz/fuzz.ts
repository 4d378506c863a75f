import { isNativeError } from 'node:util/types';
import { breakInPlace, mutate, pagesOf, randomOf } from './mutate.ts';
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

/** Feeds a target with inputs; gives the first one that crashes it, takes more than a second or 64 MB. */
export async function fuzz(
  target: FuzzTarget,
  seed: number,
  goesOn: (count: number) => boolean,
  watch: (input: Buffer) => void = () => {},
): Promise<{ count: number; finding?: Finding }> {
  const random = randomOf(seed);
  const goods = target.goods;
  const pick = () => goods[random(goods.length)] ?? Buffer.alloc(0);
  const pages = new Map(
    goods.filter(({ length }) => length > LARGE_BYTES).map((image) => [image, pagesOf(image)]),
  );
  await attempt(target, pick());
  let count = 0;
  for (; goesOn(count); count += 1) {
    const image = goods[random(goods.length)];
    if (image && image.length > LARGE_BYTES) {
      const mend = breakInPlace(image, pages.get(image) ?? [], random);
      watch(image);
      const what = await attempt(target, image);
      const input = what ? Buffer.from(image) : image;
      mend();
      if (what) return { count, finding: { target: target.name, what, input } };
      continue;
    }
    const input = count < goods.length ? (goods[count] ?? pick()) : mutate(pick(), pick(), random);
    watch(input);
    const what = await attempt(target, input);
    if (what) return { count, finding: { target: target.name, what, input } };
  }
  return { count };
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

/** Bytes outside the heap, where buffers are: what a wrong length asks for shows here at once. */
function held(): number {
  return process.memoryUsage().external;
}
