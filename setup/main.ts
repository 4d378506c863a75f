import { join } from 'node:path';
import { describeError, KindlingError, toKindlingError } from '../protocol/error.ts';
import { run } from '../system/run.ts';
import { DEBIAN_PACKAGES } from './debian-packages.ts';
import { generateCode } from './generate.ts';
import { installDebianPackages } from './install-debian-packages.ts';
import { besideBusyProcesses, longTestEnvironment, seededTestFiles, usualProjects } from './long-tests.ts';
import { becomeProgram, runProgram } from './run-program.ts';
import { testMachines } from './test-machines/test-machines.ts';
import { pathsBeforeUpdate } from './vitest-arguments.ts';

interface NpmCommand {
  /** Loop devices, namespaces, taps, packages: started again through sudo when the user is not root. */
  needsRoot: boolean;
  needsDebianPackages: 'all' | 'without tests' | 'none';
  /** The last program of a command takes the place of this process. */
  start: (args: string[]) => Promise<number>;
}

const onTheWholeMachine = { needsRoot: true, needsDebianPackages: 'without tests' } as const;
const asTest = { needsRoot: true, needsDebianPackages: 'all' } as const;
const onNodeAlone = { needsRoot: false, needsDebianPackages: 'none' } as const;

/** What each npm command needs from the machine, and what it starts once that is there. */
const COMMANDS: Record<string, NpmCommand> = {
  demo: { ...onTheWholeMachine, start: (args) => becomeNode(['demo/main.ts', ...args]) },
  test: {
    ...asTest,
    start: (args) =>
      inOrder(
        () => lint([]),
        () => vitest([...usualProjects(args), ...args]),
      ),
  },
  'test:long': { ...asTest, start: longTests },
  'test:machines': { ...asTest, start: testMachines },
  release: { ...onTheWholeMachine, start: (args) => becomeNode(['release/main.ts', ...args]) },
  bench: { ...onTheWholeMachine, start: (args) => becomeNode(['bench/main.ts', ...args]) },
  conformance: { ...onNodeAlone, start: (args) => becomeNode(['test/conformance/conformance.ts', ...args]) },
  fuzz: { ...asTest, start: (args) => becomeNode(['test/fuzz/main-program.ts', ...args]) },
  mutate: { ...onNodeAlone, start: (args) => becomeNode(['test/mutation/main-program.ts', ...args]) },
  qemu: { ...onTheWholeMachine, start: (args) => becomeNode(['lab/qemu/cli.ts', ...args]) },
  example: {
    ...onTheWholeMachine,
    start: (args) => becomeNode(['lab/target-images/example.ts', ...args]),
  },
  check: {
    ...onNodeAlone,
    start: (args) =>
      inOrder(
        () => lint([]),
        () => unitTests(args),
      ),
  },
  'test:unit': { ...onNodeAlone, start: unitTests },
  lint: { ...onNodeAlone, start: lint },
  kindling: { ...onNodeAlone, start: kindling },
  'new-action': { ...onNodeAlone, start: startAction },
};

/** 1 npm packages (done by run.mjs)  2 root  3 Debian packages  4 the command itself */
async function main([name = '', ...args]: string[]): Promise<number> {
  const command = COMMANDS[name];
  if (!command) throw unknownCommand(name);
  if (command.needsRoot && process.getuid?.() !== 0) return throughSudo([name, ...args]);
  const { needsDebianPackages } = command;
  if (needsDebianPackages !== 'none') {
    await installDebianPackages(
      DEBIAN_PACKAGES.filter(({ isForTestsOnly }) => !isForTestsOnly || needsDebianPackages === 'all'),
    );
  }
  generateCode();
  return command.start(args);
}

function unknownCommand(name: string): KindlingError {
  return new KindlingError(
    'KND_USAGE',
    `unknown command "${name}"; known: ${Object.keys(COMMANDS).join(', ')}`,
  );
}

function throughSudo(args: string[]): Promise<number> {
  process.stderr.write('▸ needs root (devices, namespaces, packages): starting again through sudo\n');
  // By the entry point: what root has left behind only root can take away.
  return runProgram('sudo', ['-E', process.execPath, join(import.meta.dirname, 'run.mjs'), ...args]);
}

function node(args: string[], env?: Record<string, string>): Promise<number> {
  return runProgram(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], env);
}

function becomeNode(args: string[]): Promise<number> {
  return becomeProgram(process.execPath, ['--disable-warning=ExperimentalWarning', ...args]);
}

function kindling(args: string[]): Promise<number> {
  return becomeNode(['cli/main.ts', ...args]);
}

function vitest(args: string[]): Promise<number> {
  return becomeNode(['node_modules/vitest/vitest.mjs', 'run', ...pathsBeforeUpdate(args)]);
}

function unitTests(args: string[]): Promise<number> {
  return vitest(['--project', 'unit', ...args]);
}

/** The seeded tests (or the files that are named) with more rounds, a seed of their own and no core to spare; then the long ones. */
function longTests(args: string[]): Promise<number> {
  if (args.length > 0) return seededTests(args);
  return inOrder(
    () => seededTests(seededTestFiles(process.cwd())),
    () => vitest(['--project', 'long']),
  );
}

function seededTests(which: string[]): Promise<number> {
  const env = longTestEnvironment(process.env);
  process.stderr.write(
    `▸ seed ${env['KINDLING_TEST_SEED']}, ${env['KINDLING_TEST_SCALE']} times the rounds\n`,
  );
  return besideBusyProcesses(() => node(['node_modules/vitest/vitest.mjs', 'run', ...which], env));
}

/** Types, format and lint, unused code; with --write what can be corrected by a machine is. */
function lint(args: string[]): Promise<number> {
  const isWriting = args.includes('--write') || args.includes('--fix');
  const biome = ['check', '--error-on-warnings', ...(isWriting ? ['--write'] : []), '.'];
  return inOrder(
    () => runProgram('node_modules/.bin/tsc', ['--noEmit']),
    () => runProgram('node_modules/.bin/tsc', ['--noEmit', '-p', 'console']),
    () => saying('npm run lint -- --write', runProgram('node_modules/.bin/biome', biome)),
    () =>
      saying(
        'delete what is not used, or what is exported for nobody',
        node(['node_modules/knip/bin/knip.js', '--no-progress']),
      ),
  );
}

/** A new action in the layout of the formatter, which also sorts its import into the others. */
async function startAction(args: string[]): Promise<number> {
  const { newAction } = await import('./new-action/new-action.ts');
  const files = await newAction(args);
  const sources = files.filter((file) => file.endsWith('.ts'));
  await run('node_modules/.bin/biome', ['check', '--write', ...sources]);
  for (const file of files) console.log(file);
  console.log(`next: npm run test:unit -- test/actions/${args[0]}`);
  return 0;
}

/** After a check that failed: what mends it. */
async function saying(whatMends: string, check: Promise<number>): Promise<number> {
  const exitCode = await check;
  if (exitCode !== 0) process.stderr.write(`▸ to mend this: ${whatMends}\n`);
  return exitCode;
}

/** Runs the steps one after the other; the first that fails ends the row. */
async function inOrder(...steps: (() => Promise<number>)[]): Promise<number> {
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
