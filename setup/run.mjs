// Entry point of the npm commands. Plain JavaScript, because it runs on whatever Node the machine has, before
// anything is installed: it fetches the npm packages (our own Node among them) and hands over to TypeScript.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beginRun } from './left-behind.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const modules = join(root, 'node_modules');
const ownNode = join(modules, 'node/bin/node');
/** The roots of test:machines do not fit into a /tmp in memory. */
const ROOMY_FOLDER = '/var/tmp';
const stamp = join(modules, '.kindling-lock');

if (Number(process.versions.node.split('.')[0]) < 20) {
  fail(
    3,
    `Node ${process.version} is too old to start from.`,
    'Install Node 20 or newer (Debian: apt-get install nodejs npm).',
  );
}
await installWhatOurNodeNeeds();
await installNpmPackages();
await handOver();

/** Runs setup/main.ts on our Node and ends as it ends. What it leaves behind is taken away, so that nothing outlives the command. */
async function handOver() {
  const run = beginRun(process.argv[2] === 'test:machines' ? ROOMY_FOLDER : tmpdir());
  const main = join(root, 'setup/main.ts');
  const args = ['--disable-warning=ExperimentalWarning', main, ...process.argv.slice(2)];
  const program = await runToEnd(ownNode, args, { env: run.environment });
  await run.end();
  if (program.error)
    fail(
      3,
      `${ownNode} could not be started: ${program.error.message}`,
      'Remove node_modules and try again.',
    );
  process.exit(program.status);
}

/**
 * Runs a program to its end. A person who stops `npm run …` means the program, not npm: npm sends SIGTERM and SIGINT to this
 * process alone (package.json has `exec`, so no shell stands between), and they go on from here.
 */
function runToEnd(command, args, options = {}) {
  const program = spawn(command, args, { stdio: 'inherit', cwd: root, ...options });
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
    process.on(signal, () => {
      // Ctrl-C reaches every process of the terminal by itself.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) program.kill(signal);
    });
  }
  return new Promise((resolve) => {
    program.on('error', (error) => resolve({ error }));
    program.on('exit', (status, signal) =>
      resolve({ status: status ?? 128 + (constants.signals[signal] ?? 0) }),
    );
  });
}

/** Our Node is linked against libatomic, which a small Debian lacks; npm starts it while it installs. */
async function installWhatOurNodeNeeds() {
  const libraries = spawnSync('sh', ['-c', 'ldconfig -p || /sbin/ldconfig -p'], { encoding: 'utf8' }).stdout;
  if (libraries.includes('libatomic.so.1')) return;
  console.error('▸ Debian package libatomic1 (our Node needs it)');
  const command =
    'apt-get -qq update && apt-get -qq install -y --no-install-recommends libatomic1 >/dev/null';
  const asRoot = process.getuid() === 0 ? ['sh'] : ['sudo', 'sh'];
  const apt = await runToEnd(asRoot[0], [...asRoot.slice(1), '-c', command]);
  if (apt.status !== 0) {
    fail(
      3,
      'The Debian package libatomic1 could not be installed; our Node needs it.',
      'As root, run: apt-get install libatomic1',
    );
  }
}

async function installNpmPackages() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(ownNode) && existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  console.error('▸ npm packages (about 700 MB unpacked; one to two minutes the first time)');
  // `npm ci` empties the folder first. Where it is a link, that would be the folder of another checkout.
  if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink()) unlinkSync(modules);
  const npm = await runToEnd('npm', ['ci', '--loglevel=error']);
  if (npm.error)
    fail(3, `npm could not be started: ${npm.error.message}`, 'Install npm (Debian: apt-get install npm).');
  if (npm.status !== 0)
    fail(
      3,
      `npm ci failed with exit code ${npm.status}.`,
      'Read npm’s message above; most often the registry cannot be reached.',
    );
  if (!existsSync(ownNode))
    fail(
      3,
      'The npm packages came without our Node.',
      'It is built for Linux on x86-64: npm config get os, and cpu, must not say otherwise.',
    );
  writeFileSync(stamp, lock);
}

function fail(exitCode, message, hint) {
  console.error(`KND_SETUP_FAILED: ${message}\n  ${hint}`);
  process.exit(exitCode);
}
