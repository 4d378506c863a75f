import { describeError, KindlingError, toKindlingError } from '../protocol/error.ts';
import { type BenchmarkResult, describeMachine, type RunBenchmark } from './benchmark.ts';
import { exitOnSignals } from './clean-up.ts';
import { formatResult } from './format-result.ts';

/** Every benchmark: what it tells, and the module that is loaded only when it runs. */
const BENCHMARKS: Record<string, { summary: string; load: () => Promise<RunBenchmark> }> = {
  demo: {
    summary: 'how long the demo takes when everything is built',
    load: async () => (await import('./demo.ts')).benchmarkDemo,
  },
  fleet: {
    summary: '10, 100 and 1,000 agents against one stub: requests per second, latency, memory',
    load: async () => (await import('./fleet/fleet.ts')).benchmarkFleet,
  },
  'image-write': {
    summary: 'writing an image to a disk, next to the ways in use today',
    load: async () => (await import('./image-write.ts')).benchmarkImageWrite,
  },
  'micro-os': {
    summary: 'size, memory and boot time of the Micro-OS, next to its peers',
    load: async () => (await import('./micro-os.ts')).benchmarkMicroOs,
  },
  tftp: {
    summary: 'a loader over TFTP on a link with 1 ms delay: block size, window, dnsmasq',
    load: async () => (await import('./tftp/tftp.ts')).benchmarkTftp,
  },
};

/** 1 choose  2 run  3 print: for people, or with --json one object and nothing else  4 exit code 1 if a bar is missed */
async function main(args: string[]): Promise<number> {
  const isJson = args.includes('--json');
  const [name, ...rest] = args.filter((arg) => arg !== '--json');
  if (name === undefined || name === '--help') {
    process.stdout.write(list());
    return 0;
  }
  const benchmark = Object.hasOwn(BENCHMARKS, name) ? BENCHMARKS[name] : undefined;
  if (!benchmark) {
    throw new KindlingError('KND_USAGE', `there is no benchmark “${name}”`, { hint: list().trim() });
  }
  const machine = describeMachine();
  const run = await benchmark.load();
  const { rows, bars } = await run({ args: rest, say: (text) => console.error(`▸ ${text}`) });
  const result: BenchmarkResult = { name, machine, rows, bars };
  process.stdout.write(isJson ? `${JSON.stringify(result)}\n` : formatResult(result));
  return bars.every(({ ok }) => ok) ? 0 : 1;
}

function list(): string {
  const lines = Object.entries(BENCHMARKS).map(([name, { summary }]) => `  ${name.padEnd(14)} ${summary}`);
  return `npm run bench -- <name> [--json]\n\n${lines.join('\n')}\n`;
}

exitOnSignals();
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  console.error(describeError(thrown));
  process.exitCode = toKindlingError(thrown).exitCode;
}
