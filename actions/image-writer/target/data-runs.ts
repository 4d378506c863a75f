const ZERO_GRANULE = 64 * 1024;
const ZEROS = Buffer.alloc(ZERO_GRANULE);

export interface DataRun {
  start: number;
  length: number;
  isZero: boolean;
}

/** Splits bytes into runs of zeros and runs of data, at 64 KiB granularity. */
export function dataRuns(bytes: Buffer, from: number, to: number): DataRun[] {
  const runs: DataRun[] = [];
  for (let start = from; start < to; start += ZERO_GRANULE) {
    const length = Math.min(ZERO_GRANULE, to - start);
    const isZero = bytes[start] === 0 && ZEROS.compare(bytes, start, start + length, 0, length) === 0;
    const last = runs.at(-1);
    if (last?.isZero === isZero) last.length += length;
    else runs.push({ start, length, isZero });
  }
  return runs;
}
