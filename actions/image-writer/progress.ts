import { formatBytes } from '../../system/format-bytes.ts';
import type { Bottleneck, WriteImageContext, WriteImageRequest, WriteProgress } from './interface.ts';

/** The running figures a progress line is made from. */
export interface ProgressSample {
  phase: WriteProgress['phase'];
  bytesFetched: number;
  bytesRaw: number;
  bytesWritten: number;
  /** Time each stage kept the others waiting, in ms since the start. */
  waits: Record<Bottleneck, number>;
  /** 0–1 of the writing phase; undefined while the size is unknown. */
  share: number | undefined;
  /** 0–1 of the read-back, where there is one. */
  verified?: number;
  /** How much is read back: it takes its part of the 100 percent. */
  readBack?: WriteImageRequest['readBack'];
  waitingFor: string | undefined;
}

/** Verification ends and the sync begins here, so that 100 means done. */
const SYNC_START = 97;
/** Where writing ends: to read everything back takes about as long again. */
const WRITING_END = { none: 96, sample: 90, all: 60 } as const;
const INTERVAL_MS = 1000;

/** Samples every second and reports; `stop` reports the last time. */
export class ProgressReporter {
  readonly #onProgress: NonNullable<WriteImageContext['onProgress']>;
  readonly #sample: () => ProgressSample;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  #last: { at: number; sample: ProgressSample };

  constructor(onProgress: WriteImageContext['onProgress'], sample: () => ProgressSample) {
    this.#onProgress = onProgress ?? (() => {});
    this.#sample = sample;
    this.#last = { at: this.#startedAt, sample: sample() };
    this.#timer = setInterval(() => this.report(), INTERVAL_MS);
    this.#timer.unref();
  }

  report(): void {
    const at = performance.now();
    const sample = this.#sample();
    this.#onProgress(describeProgress(sample, this.#last.sample, at - this.#last.at, at - this.#startedAt));
    this.#last = { at, sample };
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Pure: from two samples and the time between them to what a person is told. */
export function describeProgress(
  now: ProgressSample,
  before: ProgressSample,
  intervalMs: number,
  elapsedMs: number,
): WriteProgress {
  const rate = (key: 'bytesFetched' | 'bytesRaw' | 'bytesWritten') =>
    Math.round(((now[key] - before[key]) / Math.max(intervalMs, 1)) * 1000);
  const percent = percentOf(now);
  const eta =
    percent !== undefined && percent > 1 && percent < 100
      ? ((elapsedMs / percent) * (100 - percent)) / 1000
      : undefined;
  const bottleneck = now.phase === 'writing' ? findBottleneck(now.waits, before.waits) : undefined;
  return {
    phase: now.phase,
    ...(percent === undefined ? {} : { percent: Math.round(percent * 10) / 10 }),
    ...(eta === undefined ? {} : { etaSeconds: Math.round(eta) }),
    bytesFetched: now.bytesFetched,
    bytesRaw: now.bytesRaw,
    bytesWritten: now.bytesWritten,
    fetchRate: rate('bytesFetched'),
    rawRate: rate('bytesRaw'),
    writeRate: rate('bytesWritten'),
    ...(bottleneck ? { bottleneck } : {}),
    ...(now.waitingFor ? { waitingFor: now.waitingFor } : {}),
  };
}

function percentOf({ phase, share, verified = 0, readBack = 'none' }: ProgressSample): number | undefined {
  const writingEnd = WRITING_END[readBack];
  switch (phase) {
    case 'checking':
      return (share ?? 0) * writingEnd;
    case 'writing':
      return share === undefined ? undefined : Math.min(1, share) * writingEnd;
    case 'verifying':
      return writingEnd + (SYNC_START - writingEnd) * Math.min(1, verified);
    case 'syncing':
      return SYNC_START;
    case 'done':
      return 100;
  }
}

/** The stage the others waited for most. */
export function findBottleneck(
  waits: Record<Bottleneck, number>,
  since: Record<Bottleneck, number> = { network: 0, decompression: 0, disk: 0 },
): Bottleneck {
  const stages: Bottleneck[] = ['network', 'decompression', 'disk'];
  return stages.reduce((worst, stage) =>
    waits[stage] - since[stage] > waits[worst] - since[worst] ? stage : worst,
  );
}

const LIMITED_BY: Record<Bottleneck, string> = {
  network: 'the network',
  decompression: 'decompression',
  disk: 'the disk',
};

/** "3.9 GiB in 21 s, 190 MB/s; limited by the network" */
export function closingLine(bytesRaw: number, seconds: number, limitedBy: Bottleneck): string {
  const rate = Math.round(bytesRaw / 1e6 / Math.max(seconds, 0.001));
  return `${formatBytes(bytesRaw)} in ${seconds.toFixed(seconds < 10 ? 1 : 0)} s, ${rate} MB/s; limited by ${LIMITED_BY[limitedBy]}`;
}
