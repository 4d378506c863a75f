import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
/** Every other folder is product: it must run after `npm ci --omit=dev`. */
const DEVELOPMENT = ['bench', 'docs', 'node_modules', 'setup', 'test'];
/** Started, not imported: our own Node runs the product and goes into the Micro-OS. */
const STARTED = ['node'];

const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
};
const files = globSync('*/**/*.{ts,tsx}', { cwd: root, exclude: (name) => DEVELOPMENT.includes(name) });
const imports = files.flatMap((file) =>
  packagesIn(readFileSync(join(root, file), 'utf8')).map((name) => ({ file, name })),
);

describe('the dependencies in package.json', () => {
  it('hold every package that product code imports', () => {
    expect(imports.filter(({ name }) => !Object.hasOwn(dependencies, name))).toEqual([]);
  });

  it('hold nothing else', () => {
    const needed = new Set([...imports.map(({ name }) => name), ...STARTED]);
    expect(Object.keys(dependencies).filter((name) => !needed.has(name))).toEqual([]);
  });

  it.each([
    ["import { z } from 'zod';", ['zod']],
    ["import 'reflect-metadata';", ['reflect-metadata']],
    ["export * from '@scope/name/inner/file.js';", ['@scope/name']],
    ["const { a } = await import('zod/mini');", ['zod']],
    ["createRequire(import.meta.url)('@yao-pkg/pkg/lib-es5/sea')", ['@yao-pkg/pkg']],
    ["import a from './a.ts';\nimport { b } from '../b.ts';\nimport 'node:fs';\nimport c from 'fs';", []],
  ])('are told from a line like %s', (line, expected) => {
    expect(packagesIn(line)).toEqual(expected);
  });
});

/** The packages that a module names: static, dynamic and side-effect imports, and require. */
function packagesIn(source: string): string[] {
  const named =
    /(?:^|[\s}*])from\s+'([^']+)'|^import\s+'([^']+)'|(?:\bimport|\brequire|createRequire\(import\.meta\.url\))\('([^']+)'\)/gm;
  return [...source.matchAll(named)]
    .map(([, from, sideEffect, call]) => from ?? sideEffect ?? call ?? '')
    .filter((name) => !name.startsWith('.') && !isBuiltin(name))
    .map((name) =>
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    );
}
