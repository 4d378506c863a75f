import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, it, test } from 'vitest';
import { readIfThere } from '../../system/read-if-there.ts';

const ROOT = join(import.meta.dirname, '../..');
const MARK = 'KINDLING_TEST_RUN';

let folder: string;
let mark: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-signal-'));
  mark = randomUUID();
  mkdirSync(join(folder, 'tmp'));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'disk.raw'), '');
  truncateSync(join(folder, 'disk.raw'), 64 * 1024 ** 3);
});
afterEach(async () => {
  // where the test failed, what it started still writes into the folder
  for (const { pid } of programs()) killIfThere(pid);
  await expect.poll(programs).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

function runningPrograms(): string[] {
  return programs().map(({ line }) => line);
}

/** What runs with this test's mark in its environment, which every process hands down. */
function programs(): { pid: number; line: string }[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && (readProcess(pid, 'environ') ?? '').includes(`${MARK}=${mark}`))
    .map((pid) => ({
      pid: Number(pid),
      line: (readProcess(pid, 'cmdline') ?? '').replaceAll('\0', ' ').trim(),
    }))
    .filter(({ line }) => line !== '');
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // ended meanwhile
  }
}

function readProcess(pid: string, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined; // ended meanwhile
  }
}

/** Loop devices over a file of the command. */
function loopDevices(): string[] {
  return readdirSync('/sys/block').filter((name) =>
    readIfThere(`/sys/block/${name}/loop/backing_file`)?.startsWith(folder),
  );
}

function mounts(): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(folder));
}

/** Starts `npm run …` with a temporary folder and a cache of its own, and a program that never ends where one is named. */
function startNpm(args: readonly string[], endless?: string) {
  if (endless) {
    const program = join(folder, 'bin', endless);
    writeFileSync(program, '#!/bin/sh\nexec sleep infinity\n');
    chmodSync(program, 0o755);
  }
  const own: Record<string, string> = { STATE: join(folder, 'state'), DISK: join(folder, 'disk.raw') };
  return execa('npm', ['run', ...args.map((arg) => own[arg] ?? arg)], {
    cwd: ROOT,
    reject: false,
    stdin: 'ignore',
    env: {
      [MARK]: mark,
      TMPDIR: join(folder, 'tmp'),
      XDG_CACHE_HOME: join(folder, 'cache'),
      PATH: `${join(folder, 'bin')}${delimiter}${process.env['PATH']}`,
    },
  });
}

/** Never ends, so that the command is stopped in the midst of it. */
const ENDLESS = /sleep infinity/;

/**
 * Every npm command, the program that is waited for before the signal, and where that one would end by itself or may not be installed,
 * its name: a program that never ends stands in for it. The cache is empty: what needs an image is stopped while it builds one.
 */
const COMMANDS: readonly { args: string[]; waitsFor: RegExp; endless?: string }[] = [
  { args: ['demo'], waitsFor: ENDLESS, endless: 'apt-get' },
  { args: ['test'], waitsFor: /\btsc\b/ },
  { args: ['test:unit'], waitsFor: /vitest.*\bworkers?\b/ },
  { args: ['test:long', '--', 'test/seeds'], waitsFor: /while kill -0/ },
  { args: ['test:machines'], waitsFor: ENDLESS, endless: 'mmdebstrap' },
  { args: ['check'], waitsFor: /\btsc\b/ },
  { args: ['lint'], waitsFor: /\btsc\b/ },
  { args: ['bench', '--', 'fleet'], waitsFor: /fleet\/stub-process/ },
  { args: ['conformance'], waitsFor: ENDLESS, endless: 'go' },
  { args: ['fuzz'], waitsFor: /main-program\.ts/ },
  { args: ['mutate'], waitsFor: /mutation\/main-program/ },
  { args: ['release'], waitsFor: /release\/main\.ts/ },
  { args: ['qemu'], waitsFor: ENDLESS, endless: 'apt-get' },
  { args: ['kindling', '--', 'serve', '--port', '0', '--state', 'STATE'], waitsFor: /main\.ts serve/ },
  { args: ['kindling', '--', 'standalone', 'try', 'DISK'], waitsFor: /qemu-system/ },
  { args: ['kindling', '--', 'standalone', 'example', 'STATE'], waitsFor: ENDLESS, endless: 'apt-get' },
  { args: ['kindling', '--', 'image', 'index', 'DISK'], waitsFor: /main\.ts image index/ },
];

/** Writes a few files and has ended before a signal could come. */
const AT_ONCE = 'new-action';

it('the table has every npm command', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
  const inTable = new Set([...COMMANDS.map(({ args }) => args[0]), AT_ONCE]);
  expect([...inTable].toSorted()).toEqual(Object.keys(scripts).toSorted());
});

test.each(COMMANDS)('SIGTERM to npm run $args ends everything that it started', async (command) => {
  const npm = startNpm(command.args, command.endless);
  await expect
    .poll(runningPrograms, { timeout: 60_000 })
    .toContainEqual(expect.stringMatching(command.waitsFor));
  npm.kill('SIGTERM');
  await npm;
  expect(runningPrograms()).toEqual([]);
  expect({ files: readdirSync(join(folder, 'tmp')), loops: loopDevices(), mounts: mounts() }).toEqual({
    files: [],
    loops: [],
    mounts: [],
  });
});
