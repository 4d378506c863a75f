import { expect, it } from 'vitest';
import { decodeProgress, encodeProgress } from '../../protocol/progress-text.ts';

it('has share, rest and figures', () => {
  expect(
    encodeProgress({ type: 'progress', stage: 'erasing sda', percent: 9.99, figures: { rate: '200 MB/s' } }),
  ).toBe('erasing sda 9 % · rate 200 MB/s');
});

it('what the agent writes, the server reads', () => {
  const text = encodeProgress({
    type: 'progress',
    stage: 'writing the image',
    percent: 61.4,
    etaSeconds: 20.2,
    figures: { bytesFetched: 12, fetchRate: 3, rawRate: 412_000_000, writeRate: 7, bottleneck: 'disk' },
  });
  expect(decodeProgress(text)).toEqual({
    doing: 'writing the image',
    percent: 61,
    secondsLeft: 21,
    bytesPerSecond: 412_000_000,
  });
});

it.each([
  ['', ''],
  ['Pulling image quay.io/x 3 of 7', 'Pulling image quay.io/x 3 of 7'],
  ['100 %', '100 %'],
  ['rawRate 5 · s left', 'rawRate 5'],
])('of another text only what it does is known: %j', (text, doing) => {
  expect(decodeProgress(text)).toEqual({ doing, percent: null, secondsLeft: null, bytesPerSecond: null });
});

it('nothing is more than 100 percent', () => {
  expect(decodeProgress('writing 999 %').percent).toBe(100);
});
