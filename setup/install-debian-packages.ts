import { spawn, spawnSync } from 'node:child_process';
import { KindlingError } from '../protocol/error.ts';
import { DEBIAN_PACKAGES } from './debian-packages.ts';
import { step } from './step.ts';

/** Installs what is missing of the Debian packages; a failure names the package, why it is needed, and what to do. */
export async function installDebianPackages(): Promise<void> {
  const missing = DEBIAN_PACKAGES.filter(({ name }) => !isInstalled(name));
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name);
  const asRoot = rootPrefix(names);
  await step(`Debian package lists`, () => apt([...asRoot, 'apt-get', 'update', '-q']));
  await step(`${names.length} Debian packages: ${names.join(' ')}`, async () => {
    await apt([...asRoot, 'apt-get', 'install', '-q', '-y', '--no-install-recommends', ...names]);
  });
  const stillMissing = missing.filter(({ name }) => !isInstalled(name));
  const first = stillMissing[0];
  if (first) {
    throw new KindlingError(
      'KND_SETUP_FAILED',
      `the Debian package ${first.name} is not installed; it is needed: ${first.reason}`,
      {
        hint: `Run: apt-get install ${stillMissing.map(({ name }) => name).join(' ')}`,
      },
    );
  }
}

function isInstalled(name: string): boolean {
  const { stdout } = spawnSync('dpkg-query', ['-W', '-f', '$' + '{Status}', name], { encoding: 'utf8' });
  return stdout === 'install ok installed';
}

function rootPrefix(names: string[]): string[] {
  if (process.getuid?.() === 0) return ['env', 'DEBIAN_FRONTEND=noninteractive'];
  if (spawnSync('sudo', ['--version']).status === 0) return ['sudo', 'env', 'DEBIAN_FRONTEND=noninteractive'];
  throw new KindlingError('KND_SETUP_FAILED', 'installing Debian packages needs root, and there is no sudo', {
    hint: `As root, run: apt-get install ${names.join(' ')}`,
  });
}

async function apt([program = '', ...args]: string[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(program, args, { stdio: ['inherit', 'pipe', 'pipe'] });
  let output = '';
  const collect = (chunk: Buffer) => {
    output += chunk.toString();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  child.on('error', reject);
  child.on('close', (exitCode) => {
    if (exitCode === 0) return resolve();
    const said = output
      .split('\n')
      .filter((line) => line.startsWith('E:'))
      .join(' ');
    reject(
      new KindlingError(
        'KND_SETUP_FAILED',
        `apt-get ended with exit code ${exitCode}: ${said || output.slice(-400)}`,
        {
          hint: 'Check the network and /etc/apt/sources.list, then run the same command again.',
        },
      ),
    );
  });
  return promise;
}
