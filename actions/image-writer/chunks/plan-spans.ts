import { type ChunkTable, STATE } from './chunk-table.ts';
import { score } from './neighbors/rank.ts';

/** Chunks fetched in one request: large enough that a round trip does not show. */
const SPAN_CHUNKS = 16;
/** Of what is left, each worker takes half of its share at most: toward the end the spans get short, and all end together. */
const SHARES = 2;

/**
 * The work list of one phase: runs of neighboring chunks that need it, in the order of the file. Among neighbors every chunk
 * is a run of its own, and each node has its own order: what two nodes fetch before they know of each other is not the same.
 */
export function planSpans(
  table: ChunkTable,
  phase: 'check' | 'write',
  workers: number,
  ownUrl?: string,
): SharedArrayBuffer {
  const wanted: ReadonlySet<number> =
    phase === 'check' ? new Set([STATE.check, STATE.checkZero]) : new Set([STATE.fetch, STATE.zero]);
  const isWork = (index: number) => index > 0 && wanted.has(table.states[index] ?? STATE.done);
  const isData = (index: number) => isWork(index) && !table.isZero(index);
  let left = table.states.reduce((count, _, index) => count + (isData(index) ? 1 : 0), 0);
  const spans: [from: number, to: number][] = [];
  // chunk 0 is not in the list: it is written by hand, in the end
  for (let from = 1; from < table.count; ) {
    if (!isWork(from)) {
      from += 1;
      continue;
    }
    const share = Math.ceil(left / workers / SHARES) || SPAN_CHUNKS; // nothing left but zeros
    const limit = ownUrl === undefined ? Math.min(SPAN_CHUNKS, share) : 1;
    let to = from;
    while (to < table.count && to - from < limit && isWork(to)) {
      if (isData(to)) left -= 1;
      to += 1;
    }
    spans.push([from, to]);
    from = to;
  }
  if (ownUrl !== undefined) spans.sort(([a], [b]) => score(ownUrl, b) - score(ownUrl, a));
  const memory = new SharedArrayBuffer(spans.length * 8);
  new Int32Array(memory).set(spans.flat());
  return memory;
}
