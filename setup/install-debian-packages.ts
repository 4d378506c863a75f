import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { KindlingError } from '../protocol/error.ts';
import { run, stderrOf } from '../system/run.ts';
import { step } from '../system/step.ts';
import type { DEBIAN_PACKAGES } from './debian-packages.ts';

const APT_LISTS = '/var/lib/apt/lists';
/** Older lists name packages that the mirror may have replaced meanwhile. */
const LISTS_ARE_GOOD_FOR_MS = 3 * 86_400_000;

/** Installs what is missing of the Debian packages, as root; a failure names the package, why it is needed, and what to do. */
export async function installDebianPackages(packages: typeof DEBIAN_PACKAGES): Promise<void> {
  const missing = packages.filter(({ name }) => !isInstalled(name));
  // The Micro-OS is made of packages that apt downloads later, so it must know them even if nothing is to be installed.
  if (missing.length > 0 || !listsAreFresh()) {
    await step('Debian package lists', () => apt(['update', '-q']));
  }
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name);
  await step(`${names.length} Debian packages: ${names.join(' ')}`, () =>
    apt(['install', '-q', '-y', '--no-install-recommends', ...names]),
  );
  const [stillMissing] = missing.filter(({ name }) => !isInstalled(name));
  if (stillMissing) {
    throw new KindlingError(
      'KND_SETUP_FAILED',
      `the Debian package ${stillMissing.name} is not installed; it is needed: ${stillMissing.reason}`,
      { hint: `Run: apt-get install ${stillMissing.name}` },
    );
  }
}

function isInstalled(name: string): boolean {
  const { stdout } = spawnSync('dpkg-query', ['-W', '-f', '$' + '{Status}', name], { encoding: 'utf8' });
  return stdout === 'install ok installed';
}

function listsAreFresh(): boolean {
  const age = Date.now() - statSync(APT_LISTS).mtimeMs;
  return (
    age < LISTS_ARE_GOOD_FOR_MS && readdirSync(APT_LISTS).some((name) => /_Packages(\.\w+)?$/.test(name))
  );
}

async function apt(args: string[]): Promise<void> {
  try {
    await run('apt-get', ['-o', 'Acquire::Retries=3', ...args], {
      env: { DEBIAN_FRONTEND: 'noninteractive' },
      foreground: true,
    });
  } catch (cause) {
    const output = stderrOf(cause) || String(cause);
    const errors = output.split('\n').filter((line) => line.startsWith('E:'));
    throw new KindlingError(
      'KND_SETUP_FAILED',
      `apt-get ${args[0]} failed: ${errors.join(' ') || output.slice(-400)}`,
      { hint: 'Check the network and the sources of apt, then run the same command again.', cause },
    );
  }
}
