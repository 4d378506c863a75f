import { describeError, KindlingError, toKindlingError } from '../protocol/error.ts';
import { installDebianPackages } from './install-debian-packages.ts';
import { runProgram } from './run-program.ts';

/** What each npm command needs from the machine, and what it starts once that is there. */
const COMMANDS: Record<string, { needsDebianPackages: boolean; start: (args: string[]) => Promise<number> }> =
  {
    demo: { needsDebianPackages: true, start: (args) => kindling(['demo', ...args]) },
    test: { needsDebianPackages: true, start: (args) => runAll([check, () => vitest(args)]) },
    'test:unit': { needsDebianPackages: false, start: (args) => vitest(['--project', 'unit', ...args]) },
    check: {
      needsDebianPackages: false,
      start: (args) => runAll([check, () => vitest(['--project', 'unit', ...args])]),
    },
    lint: { needsDebianPackages: false, start: check },
    bench: { needsDebianPackages: true, start: (args) => node(['bench/main.ts', ...args]) },
    qemu: { needsDebianPackages: true, start: (args) => node(['test/qemu/cli.ts', ...args]) },
    kindling: { needsDebianPackages: false, start: kindling },
  };

/** 1 npm packages (done by run.mjs)  2 Debian packages  3 generated code  4 the command itself */
async function main([name = '', ...args]: string[]): Promise<number> {
  const command = COMMANDS[name];
  if (!command)
    throw new KindlingError(
      'KND_USAGE',
      `unknown command "${name}"; known: ${Object.keys(COMMANDS).join(', ')}`,
    );
  if (command.needsDebianPackages) await installDebianPackages();
  return command.start(args);
}

function node(args: string[]): Promise<number> {
  return runProgram(process.execPath, ['--disable-warning=ExperimentalWarning', ...args]);
}

function kindling(args: string[]): Promise<number> {
  return node(['orchestrator-stub/cli/main.ts', ...args]);
}

function vitest(args: string[]): Promise<number> {
  return node(['node_modules/vitest/vitest.mjs', 'run', ...args]);
}

function check(): Promise<number> {
  return runAll([
    () => runProgram('node_modules/.bin/tsc', ['--noEmit']),
    () => runProgram('node_modules/.bin/biome', ['check', '--error-on-warnings', '.']),
    () => node(['node_modules/knip/bin/knip.js', '--no-progress']),
  ]);
}

async function runAll(steps: (() => Promise<number>)[]): Promise<number> {
  for (const step of steps) {
    const exitCode = await step();
    if (exitCode !== 0) return exitCode;
  }
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  console.error(describeError(thrown));
  process.exitCode = toKindlingError(thrown).exitCode;
}
