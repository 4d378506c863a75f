import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';

/** What every benchmark gives; with --json this is all of standard output. */
export interface BenchmarkResult {
  name: string;
  machine: BenchmarkMachine;
  rows: Row[];
  bars: Bar[];
}

/** One line of the table; the keys are the columns. */
export type Row = Record<string, string | number | boolean | null>;

/** A promise the project makes about itself, and what came out. */
export interface Bar {
  name: string;
  want: string;
  got: string | number;
  ok: boolean;
}

export interface BenchmarkMachine {
  cpu: string;
  cores: number;
  memoryMb: number;
  kernel: string;
  os: string;
  node: string;
  /** Of the last minute, before the benchmark began: above 0.5 the times say little. */
  loadBefore: number;
}

export interface BenchmarkContext {
  /** What came after the name on the command line, without --json. */
  args: readonly string[];
  /** Progress, for the person who waits; it goes to standard error. */
  say: (text: string) => void;
}

/** What the module of a benchmark exports. */
export type RunBenchmark = (context: BenchmarkContext) => Promise<Pick<BenchmarkResult, 'rows' | 'bars'>>;

export function describeMachine(): BenchmarkMachine {
  const [, os = 'unknown'] = /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? [];
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryMb: Math.round(totalmem() / 2 ** 20),
    kernel: release(),
    os,
    node: process.version,
    loadBefore: Number(loadavg()[0]?.toFixed(2)),
  };
}
