import { type ChunkTable, STATE } from './chunk-table.ts';
import { score } from './neighbours/rank.ts';

/** So many chunks are fetched in one request: large enough that a round trip does not show, small enough to share out. */
const SPAN_CHUNKS = 16;

/**
 * The work list of one phase: runs of neighbouring chunks that need it, in the order of the file. Among neighbours every chunk
 * is a run of its own, and each node has its own order: what two nodes fetch before they know of each other is not the same.
 */
export function planSpans(table: ChunkTable, phase: 'check' | 'write', ownUrl?: string): SharedArrayBuffer {
  const wanted: ReadonlySet<number> =
    phase === 'check' ? new Set([STATE.check, STATE.checkZero]) : new Set([STATE.fetch, STATE.zero]);
  const spans: [from: number, to: number][] = [];
  const limit = ownUrl === undefined ? SPAN_CHUNKS : 1;
  // chunk 0 is not in the list: it is written by hand, in the end
  for (let from = 1; from < table.count; ) {
    if (!wanted.has(table.states[from] ?? STATE.done)) {
      from += 1;
      continue;
    }
    let to = from + 1;
    while (to < table.count && to - from < limit && wanted.has(table.states[to] ?? STATE.done)) to += 1;
    spans.push([from, to]);
    from = to;
  }
  if (ownUrl !== undefined) spans.sort(([a], [b]) => score(ownUrl, b) - score(ownUrl, a));
  const memory = new SharedArrayBuffer(spans.length * 8);
  new Int32Array(memory).set(spans.flat());
  return memory;
}
