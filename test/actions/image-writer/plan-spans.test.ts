import { expect, it } from 'vitest';
import { ChunkTable, STATE } from '../../../actions/image-writer/chunks/chunk-table.ts';
import { planSpans } from '../../../actions/image-writer/chunks/plan-spans.ts';

const CHUNK = 4096;

/** Chunks from 1 on: d is data that is to be fetched, 0 is zeros, . is done. */
function plan(chunks: string, workers: number): string[] {
  const text = `.${chunks}`;
  const data = [...text].flatMap((kind, index) => (kind === 'd' ? [index] : []));
  const table = ChunkTable.fromManifest({
    size: text.length * CHUNK,
    chunkSize: CHUNK,
    blobSize: data.length,
    chunks: data.map((index, offset) => ({
      index,
      offset,
      length: 1,
      storedSha256: '0'.repeat(64),
      rawSha256: '0'.repeat(64),
    })),
  } as unknown as Parameters<typeof ChunkTable.fromManifest>[0]);
  for (const [index, kind] of [...text].entries()) if (kind === '.') table.states[index] = STATE.done;
  const bounds = [...new Int32Array(planSpans(table, 'write', workers))];
  return Array.from({ length: bounds.length / 2 }, (_, i) => text.slice(bounds[i * 2], bounds[i * 2 + 1]));
}

it('asks for many chunks at once, and for fewer toward the end, so that no worker is left with a long rest', () => {
  const lengths = plan('d'.repeat(100), 2).map(({ length }) => length);
  expect(lengths.slice(0, 3)).toEqual([16, 16, 16]);
  expect(lengths.slice(-4)).toEqual([1, 1, 1, 1]);
  expect(lengths.reduce((sum, length) => sum + length)).toBe(100);
  expect(lengths.length).toBeLessThan(25);
});

it('makes long runs of zeros at the end one step of many chunks', () => {
  expect(plan(`dd${'0'.repeat(32)}`, 2)).toEqual(['d', 'd', '0'.repeat(16), '0'.repeat(16)]);
});

it('leaves out what is done', () => {
  expect(plan('..dd..0.', 1)).toEqual(['d', 'd', '0']);
});
