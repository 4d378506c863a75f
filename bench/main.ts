import { describeError, KindlingError, toKindlingError } from '../protocol/error.ts';
import { type BenchmarkResult, describeMachine } from './benchmark.ts';
import { BENCHMARKS } from './benchmarks.ts';
import { exitOnSignals } from './clean-up.ts';
import { formatResult } from './format-result.ts';

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
