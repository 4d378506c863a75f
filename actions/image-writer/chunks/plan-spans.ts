import { type ChunkTable, STATE } from './chunk-table.ts';

/** So many chunks are fetched in one request: large enough that a round trip does not show, small enough to share out. */
const SPAN_CHUNKS = 16;

/** The work list of one phase: runs of neighbouring chunks that need it, in the order of the file. */
export function planSpans(table: ChunkTable, phase: 'check' | 'write', isSingle: boolean): SharedArrayBuffer {
  const wanted: ReadonlySet<number> =
    phase === 'check' ? new Set([STATE.check, STATE.checkZero]) : new Set([STATE.fetch, STATE.zero]);
  const pairs: number[] = [];
  const limit = isSingle ? 1 : SPAN_CHUNKS;
  // chunk 0 is not in the list: it is written by hand, in the end
  for (let from = 1; from < table.count; ) {
    if (!wanted.has(table.states[from] ?? STATE.done)) {
      from += 1;
      continue;
    }
    let to = from + 1;
    while (to < table.count && to - from < limit && wanted.has(table.states[to] ?? STATE.done)) to += 1;
    pairs.push(from, to);
    from = to;
  }
  const memory = new SharedArrayBuffer(pairs.length * 4);
  new Int32Array(memory).set(pairs);
  return memory;
}
