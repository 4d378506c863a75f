import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { copyFile, cp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { debianSources } from '../../initrd/debian/mirror.ts';
import { KindlingError } from '../../protocol/error.ts';
import { run } from '../../system/run.ts';
import { step } from '../../system/step.ts';
import { chooseMachines, type TestMachine } from './machines.ts';

const LOGS = join(import.meta.dirname, '../../build/test-machines');
const SUITE = 'bookworm';
/** What README.md asks of a machine, but for Node: Debian's own is too old, so it gets ours and this machine's npm. */
const BASE_PACKAGES = ['ca-certificates', 'git', 'libatomic1'];
const RUN_IN_ROOT = join(import.meta.dirname, 'run-in-root.sh');

interface Verdict {
  machine: TestMachine;
  exitCodes: number[];
  minutes: number;
}

/** 1 a Debian for all  2 for each machine: its own copy, its packages, its checkouts, `npm test`  3 what came of it */
export async function testMachines(args: readonly string[]): Promise<number> {
  const { machines, testArgs } = chooseMachines(args);
  mkdirSync(LOGS, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), 'kindling-machines-')); // setup/run.mjs removes it, however this ends
  process.stderr.write(`▸ logs are in ${LOGS}, roots in ${folder} until the end\n`);
  const base = await step('a fresh Debian 12', () => makeBase(folder));
  const verdicts: Verdict[] = [];
  for (const machine of machines) verdicts.push(await testOn(machine, base, folder, testArgs));
  for (const { machine, exitCodes, minutes } of verdicts) {
    const word = exitCodes.every((code) => code === 0) ? 'passed' : `failed (${exitCodes.join(', ')})`;
    process.stdout.write(`${word.padEnd(12)} ${minutes.toFixed(0).padStart(4)} min  ${machine.summary}\n`);
  }
  return verdicts.some(({ exitCodes }) => exitCodes.some((code) => code !== 0)) ? 1 : 0;
}

async function makeBase(folder: string): Promise<string> {
  const sources = join(folder, 'sources.list');
  writeFileSync(sources, `${(await debianSources()).join('\n')}\n`);
  const root = join(folder, 'base.tar');
  const include = `--include=${BASE_PACKAGES.join(',')}`;
  await run('mmdebstrap', ['--quiet', '--variant=minbase', '--mode=root', include, SUITE, root, sources]);
  return root;
}

async function testOn(
  machine: TestMachine,
  base: string,
  folder: string,
  testArgs: readonly string[],
): Promise<Verdict> {
  const root = join(folder, machine.name);
  mkdirSync(root);
  await step(`${machine.summary}: its root`, async () => {
    await run('tar', ['-C', root, '-xf', base]);
    await giveNode(root);
    for (let number = 1; number <= machine.checkouts; number += 1) {
      await run('git', ['clone', '--quiet', process.cwd(), join(root, 'root', `checkout-${number}`)]);
    }
    await installPackages(machine, root, join(LOGS, `${machine.name}-packages.log`));
  });
  const startedAt = performance.now();
  const beside = machine.beside ? startInRoot(root, '/', machine.beside) : undefined;
  const exitCodes = await step(`${machine.summary}: npm test`, () =>
    Promise.all(
      Array.from({ length: machine.checkouts }, (_, index) =>
        inRoot(
          root,
          `/root/checkout-${index + 1}`,
          ['npm', 'test', '--', ...testArgs],
          join(LOGS, `${machine.name}-${index + 1}.log`),
        ),
      ),
    ),
  ).finally(() => beside?.kill('SIGKILL'));
  await rm(root, { recursive: true });
  return { machine, exitCodes, minutes: (performance.now() - startedAt) / 60_000 };
}

async function installPackages({ packages }: TestMachine, root: string, log: string): Promise<void> {
  if (packages.length === 0) return;
  for (const command of [
    ['update', '-q'],
    ['install', '-q', '-y', '--no-install-recommends', ...packages],
  ]) {
    if ((await inRoot(root, '/', ['apt-get', ...command], log)) === 0) continue;
    throw new KindlingError('KND_SETUP_FAILED', `apt-get ${command[0]} failed; ${log} says why`);
  }
}

/** Where a Debian has the certificates that it trusts; a company's proxy may stand between it and the registry. */
const TRUSTED = '/etc/ssl/certs/ca-certificates.crt';

/** Our own Node, the npm of this machine, and whom this machine trusts. */
async function giveNode(root: string): Promise<void> {
  const npm = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((path) => join(path, 'npm'))
    .find((path) => existsSync(path));
  if (!npm) throw new KindlingError('KND_SETUP_FAILED', 'npm is not in PATH');
  const target = join(root, 'usr/local/lib/node_modules/npm');
  await cp(dirname(dirname(realpathSync(npm))), target, { recursive: true });
  await copyFile(process.execPath, join(root, 'usr/local/bin/node'));
  await copyFile(TRUSTED, join(root, TRUSTED));
  writeFileSync(
    join(root, 'usr/local/bin/npm'),
    '#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n',
    { mode: 0o755 },
  );
}

/** Its processes and mounts end with it. */
function startInRoot(root: string, folder: string, command: readonly string[]): ChildProcess {
  const namespaces = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child'];
  return spawn('unshare', [...namespaces, RUN_IN_ROOT, root, folder, ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function inRoot(
  root: string,
  folder: string,
  command: readonly string[],
  log: string,
): Promise<number> {
  const child = startInRoot(root, folder, command);
  const ended = new Promise<number>((resolve, reject) => {
    child.on('error', reject).on('close', (code) => resolve(code ?? 1));
  });
  const copies = [child.stdout, child.stderr].map(
    (stream) => stream && pipeline(stream, createWriteStream(log, { flags: 'a' })),
  );
  const [exitCode] = await Promise.all([ended, ...copies]);
  return exitCode;
}
