import type { Bar } from '../benchmark.ts';
import type { CaseResult } from '../image-write.ts';
import type { Format } from './cases.ts';
import type { Ceiling } from './ceiling.ts';
import type { DeltaResult } from './delta.ts';
import type { LinkResult } from './link.ts';
import type { NeighborsResult } from './neighbors.ts';
import type { Scaling } from './scaling.ts';

export interface Extras {
  ceiling: Ceiling;
  link: LinkResult;
  scaling: Scaling[];
  delta: DeltaResult;
  neighbors: NeighborsResult;
}

/** What issue 5 promises, against what came out of this run. */
export function judge(results: readonly CaseResult[], extras: Extras | undefined): Bar[] {
  const ours = (format: Format) => results.find((result) => result.isOurs && result.format === format);
  const peers = (format: Format) => results.filter((result) => !result.isOurs && result.format === format);
  const bars: Bar[] = [];
  const ratio = (name: string, got: number, want: string, ok: boolean) =>
    bars.push({ name, want, got: `${got.toFixed(2)}×`, ok });

  const zst = ours('zst');
  const image2disk = results.find(({ name }) => name.startsWith('image2disk'));
  if (zst && image2disk) {
    const speedup = image2disk.wallSeconds / zst.wallSeconds;
    ratio('plain .zst, faster than image2disk’s way', speedup, '≥ 3×', speedup >= 3);
  }
  if (zst && peers('zst').length > 0) {
    const speedup = Math.min(...peers('zst').map((peer) => peer.wallSeconds)) / zst.wallSeconds;
    const cpu = zst.cpuPerGib / Math.min(...peers('zst').map((peer) => peer.cpuPerGib));
    ratio('plain .zst, faster than the best peer', speedup, '≥ 1.4×', speedup >= 1.4);
    ratio('plain .zst, CPU of the thriftiest peer', cpu, '≤ 0.75×', cpu <= 0.75);
  }
  for (const format of ['gz', 'xz', 'bz2'] as const) {
    const own = ours(format);
    if (!own || peers(format).length === 0) continue;
    const speedup = Math.min(...peers(format).map((peer) => peer.wallSeconds)) / own.wallSeconds;
    const cpu = own.cpuPerGib / Math.min(...peers(format).map((peer) => peer.cpuPerGib));
    ratio(`plain .${format}, faster than the best peer`, speedup, '> 1×', speedup > 1);
    ratio(`plain .${format}, CPU of the thriftiest peer`, cpu, '≤ 1×', cpu <= 1);
  }
  const chunked = ours('chunked');
  // gz, xz and bz2 have images of another size: per GiB, so that all can be compared
  const plainPeers = results.filter(({ isOurs }) => !isOurs);
  if (chunked && plainPeers.length > 0) {
    const best = plainPeers.reduce((a, b) => (a.mbPerSecond > b.mbPerSecond ? a : b));
    const speedup = chunked.mbPerSecond / best.mbPerSecond;
    const cpu = chunked.cpuPerGib / best.cpuPerGib;
    ratio(`chunked, faster than the best plain peer (${best.name})`, speedup, '≥ 2×', speedup >= 2);
    ratio('chunked, CPU of that peer', cpu, '≤ 0.5×', cpu <= 0.5);
  }
  if (extras) bars.push(...judgeExtras(extras));
  const wrong = results.filter((result) => !result.isEqual).map(({ name }) => name);
  bars.push({
    name: 'every result bit-equal',
    want: 'all',
    got: wrong.join(', ') || 'all',
    ok: wrong.length === 0,
  });
  const rss = Math.max(0, ...results.filter((result) => result.isOurs).map((result) => result.peakRssMb));
  bars.push({ name: 'memory of our writer', want: '< 300 MB', got: `${rss} MB`, ok: rss < 300 });
  return bars;
}

function judgeExtras({ ceiling, link, scaling, delta, neighbors }: Extras): Bar[] {
  const { download, decompress, write, chunked } = ceiling;
  const share = Math.max(download, decompress, write) / chunked;
  const stages = `download ${download.toFixed(2)} s, decompress ${decompress.toFixed(2)} s, write ${write.toFixed(2)} s`;
  const [one, four, eight] = scaling;
  const growth = one && eight ? eight.wallSeconds / one.wallSeconds : Number.NaN;
  const memory = one && eight ? eight.peakRssMb - one.peakRssMb : Number.NaN;
  const times = [one, four, eight].map((each) => `${each?.wallSeconds.toFixed(2)} s`).join(', ');
  return [
    {
      name: `chunked onto a real disk (${chunked.toFixed(2)} s), of the ceiling (${stages})`,
      want: '≥ 80 %',
      got: `${Math.round(share * 100)} %`,
      ok: share >= 0.8 && ceiling.isEqual,
    },
    {
      name: `chunked over ${link.megabits} Mbit/s, of the ceiling (download ${link.download.toFixed(2)} s)`,
      want: '≥ 80 %',
      got: `${Math.round((link.download / link.write) * 100)} %`,
      ok: link.download / link.write >= 0.8 && link.isEqual,
    },
    {
      name: `1, 4 and 8 times the image (${times}), time`,
      want: '≤ 8.8×',
      got: `${growth.toFixed(2)}×`,
      ok: growth <= 8.8,
    },
    { name: '8 times the image, memory', want: '≤ +16 MB', got: `${memory} MB more`, ok: memory <= 16 },
    {
      name: `delta: ${(delta.changedShare * 100).toFixed(1)} % changed, bytes fetched`,
      want: '≤ 6 %',
      got: `${(delta.fetchedShare * 100).toFixed(1)} %`,
      ok: delta.fetchedShare <= 0.06 && delta.isDeltaEqual,
    },
    {
      name: `repair of ${delta.corruptedBlocks} damaged blocks, chunks fetched`,
      want: '≤ 20',
      got: delta.repairedChunks,
      ok: delta.repairedChunks <= 20 && delta.isRepairEqual,
    },
    {
      name: `${neighbors.nodes} nodes behind 50 Mbit/s (${Math.round(neighbors.seconds)} s), images over the uplink`,
      want: '≤ 1.3',
      got: neighbors.imagesOverUplink.toFixed(2),
      ok: neighbors.imagesOverUplink <= 1.3 && neighbors.isEqual,
    },
  ];
}
