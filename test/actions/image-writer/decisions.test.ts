import { describe, expect, test } from 'vitest';
import { decodeJournal, encodeJournal } from '../../../actions/image-writer/chunks/journal.ts';
import { rankOwners } from '../../../actions/image-writer/chunks/neighbours/rank.ts';
import { redact } from '../../../actions/image-writer/http/get.ts';
import { proxyFor } from '../../../actions/image-writer/http/proxy.ts';
import {
  closingLine,
  describeProgress,
  type ProgressSample,
} from '../../../actions/image-writer/progress.ts';
import { dataRuns } from '../../../actions/image-writer/stream/block-output.ts';

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

describe('the proxy', () => {
  const transport = {
    httpProxy: 'proxy:3128',
    httpsProxy: 'http://secure:3128',
    noProxy: '.local, 10.0.0.0/8,exact.example:8080, [fd00::5]:80',
  };
  test.each([
    ['http://a.example/x', 'proxy:3128'],
    ['https://a.example/x', 'secure:3128'],
    ['http://node.local/x', undefined],
    ['http://10.1.2.3/x', undefined],
    ['http://11.1.2.3/x', 'proxy:3128'],
    ['http://exact.example:8080/x', undefined],
    ['http://exact.example/x', 'proxy:3128'],
    ['http://127.0.0.1/x', undefined],
    ['http://[fd00::5]/x', undefined],
    ['http://[fd00::6]:8080/x', 'proxy:3128'],
  ])('for %s is %s', (url, host) => {
    expect(proxyFor(new URL(url), transport)?.host).toBe(host);
  });
  test('that is no http address is told, and a range that is none matches nobody', () => {
    const find = (httpProxy: string, noProxy = '') =>
      proxyFor(new URL('http://10.1.2.3/x'), { httpProxy, noProxy });
    expect(() => find('socks5://proxy:1080')).toThrow(expect.objectContaining({ code: 'KND_USAGE' }));
    expect(() => find('http://:::')).toThrow(expect.objectContaining({ code: 'KND_USAGE' }));
    expect(find('https://proxy:3129', '10.0.0.0/99, 10.0.0.0/x')?.protocol).toBe('https:');
  });
});

test('addresses in messages have neither password nor query', () => {
  expect(redact('https://user:secret@images.test/disk.zst?X-Amz-Signature=key#x')).not.toMatch(/secret|key/);
  expect(redact('http://images.test/disk.zst')).toBe('http://images.test/disk.zst');
  expect(redact('user:secret@images')).not.toContain('secret');
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

describe('owners of chunks among neighbours', () => {
  const urls = Array.from({ length: 8 }, (_, i) => `http://10.0.0.${i + 1}:8080`);
  test('are the same whoever asks, and share the work evenly', () => {
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
