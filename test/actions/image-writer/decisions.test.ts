import { describe, expect, test } from 'vitest';
import { decodeJournal, encodeJournal } from '../../../actions/image-writer/chunks/journal.ts';
import { rankOwners } from '../../../actions/image-writer/chunks/neighbors/rank.ts';
import {
  closingLine,
  describeProgress,
  type ProgressSample,
} from '../../../actions/image-writer/progress.ts';
import { dataRuns } from '../../../actions/image-writer/target/data-runs.ts';

describe('progress', () => {
  const sample = (change: Partial<ProgressSample>): ProgressSample => ({
    phase: 'writing',
    bytesFetched: 0,
    bytesRaw: 0,
    bytesWritten: 0,
    waits: { network: 0, decompression: 0, disk: 0 },
    share: 0,
    waitingFor: undefined,
    ...change,
  });

  test('has three rates, an ETA and the stage the others wait for', () => {
    const now = sample({
      bytesFetched: 50e6,
      bytesRaw: 200e6,
      bytesWritten: 120e6,
      share: 0.5,
      waits: { network: 10, decompression: 20, disk: 800 },
    });
    expect(describeProgress(now, sample({}), 1000, 10_000)).toEqual({
      phase: 'writing',
      percent: 48,
      etaSeconds: 11,
      bytesFetched: 50e6,
      bytesRaw: 200e6,
      bytesWritten: 120e6,
      fetchRate: 50e6,
      rawRate: 200e6,
      writeRate: 120e6,
      bottleneck: 'disk',
    });
  });

  test('reaches 100 only when the sync is done', () => {
    const percent = (change: Partial<ProgressSample>) =>
      describeProgress(sample(change), sample({}), 1000, 5000).percent;
    expect(percent({ share: 1 })).toBeLessThan(100);
    expect(percent({ phase: 'syncing', share: 1 })).toBeLessThan(100);
    expect(percent({ phase: 'done', share: 1 })).toBe(100);
    expect(percent({ share: undefined })).toBeUndefined();
  });

  test.each(['none', 'sample', 'all'] as const)('only goes forward when %s is read back', (readBack) => {
    const steps: Partial<ProgressSample>[] = [
      { phase: 'checking', share: 0.01 },
      { phase: 'writing', share: 0.5 },
      { phase: 'writing', share: 1 },
      { phase: 'verifying', share: 1, verified: 0 },
      { phase: 'verifying', share: 1, verified: 1 },
      { phase: 'syncing', share: 1, verified: 1 },
      { phase: 'done', share: 1, verified: 1 },
    ];
    const percents = steps.map(
      (step) => describeProgress(sample({ ...step, readBack }), sample({}), 1000, 5000).percent ?? 0,
    );
    expect(percents).toEqual(percents.toSorted((a, b) => a - b));
    expect(percents.at(-1)).toBe(100);
    expect(percents.at(-2)).toBeLessThan(100);
  });

  test('ends with one line', () => {
    expect(closingLine(3.9 * 2 ** 30, 21, 'network')).toBe(
      '3.9 GiB in 21 s, 199 MB/s; limited by the network',
    );
  });
});

describe('the journal', () => {
  const root = 'ab'.repeat(32);
  const record = () => {
    const bytes = Buffer.alloc(4096);
    encodeJournal(bytes, root, 7, 20, Buffer.from([0xff, 0x01, 0x08]));
    return bytes;
  };
  test('reads back, for its own manifest only', () => {
    expect(decodeJournal(record(), root, 20)).toEqual({ sequence: 7, done: Buffer.from([0xff, 0x01, 0x08]) });
    expect(decodeJournal(record(), 'cd'.repeat(32), 20)).toBeUndefined();
    expect(decodeJournal(record(), root, 21)).toBeUndefined();
  });
  test('that was cut short by a power loss is not believed', () => {
    const torn = record();
    torn[49] = 0x03;
    expect(decodeJournal(torn, root, 20)).toBeUndefined();
  });
});

describe('owners of chunks among neighbors', () => {
  const urls = Array.from({ length: 8 }, (_, i) => `http://10.0.0.${i + 1}:8080`);
  test('are the same for every caller, and share the work evenly', () => {
    const counts = new Map<string, number>();
    for (let index = 0; index < 4000; index += 1) {
      const [owner = ''] = rankOwners(index, urls);
      expect(rankOwners(index, [...urls].reverse())[0]).toBe(owner);
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
    }
    for (const count of counts.values()) expect(Math.abs(count - 500)).toBeLessThan(120);
  });
});

test('runs of zeros and of data are told apart in steps of 64 KiB', () => {
  const bytes = Buffer.alloc(65_536 * 4);
  bytes[65_536 + 9] = 1;
  expect(dataRuns(bytes, 0, bytes.length)).toEqual([
    { start: 0, length: 65_536, isZero: true },
    { start: 65_536, length: 65_536, isZero: false },
    { start: 131_072, length: 131_072, isZero: true },
  ]);
});
