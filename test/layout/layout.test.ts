import { describe, expect, it } from 'vitest';
import { FOLDERS } from '../../setup/folders.ts';
import { thisRepository } from '../repository.ts';
import { findImports } from './find-imports.ts';
import { findCycles } from './folder-cycles.ts';
import { judgeImport } from './judge-import.ts';

const repository = thisRepository();
const sources = repository.files.filter((file) => /\.(tsx?|mjs)$/.test(file));

describe('the table of folders', () => {
  it('lets imports point down only, so that no two folders can import each other', () => {
    for (const [index, { name, mayImport }] of FOLDERS.entries()) {
      const below = FOLDERS.slice(index + 1).map((folder) => folder.name);
      expect(
        mayImport.filter((folder) => !below.includes(folder)),
        name,
      ).toEqual([]);
    }
  });

  it('names every folder that holds code, and no other', () => {
    const folders = new Set(sources.filter((file) => file.includes('/')).map((file) => file.split('/')[0]));
    expect(FOLDERS.map(({ name }) => name).sort()).toEqual([...folders].sort());
  });
});

it('every import in the repository is allowed by the table', () => {
  const wrong = sources.flatMap((file) =>
    findImports(file, repository.read(file)).flatMap((imported) => judgeImport(file, imported) ?? []),
  );
  expect(wrong).toEqual([]);
});

it('no parts of a folder import each other in a circle', () => {
  const product = sources.filter((file) => file.includes('/') && !/^(test|bench)\//.test(file));
  const imports = new Map(product.map((file) => [file, findImports(file, repository.read(file))]));
  expect(findCycles(imports)).toEqual([]);
});

it('a circle between the parts of a folder is found, over any number of parts', () => {
  const imports = new Map([
    ['agent/run.ts', ['agent/boot/command.ts']],
    ['agent/boot/command.ts', ['agent/config/settings.ts']],
    ['agent/config/settings.ts', ['agent/report/log.ts']],
    ['agent/report/log.ts', ['agent/boot/keys.ts']],
  ]);
  expect(findCycles(imports)).toEqual([['agent/boot', 'agent/config', 'agent/report']]);
});

describe('the judge of imports', () => {
  it.each([
    ['static', "import { x } from '../agent/run.ts';"],
    ['of a type', "import type { X } from '../agent/run.ts';"],
    ['exported again', "export * from '../agent/run.ts';"],
    ['for its effect', "import '../agent/run.ts';"],
    ['dynamic', "const { x } = await import('../agent/run.ts');"],
    ['by address', "const file = new URL('../agent/run.ts', import.meta.url);"],
    ['by address in a template', 'const file = new URL(`../agent/run.ts`, import.meta.url);'],
  ])('finds an import that points up: %s', (_, text) => {
    const [imported = ''] = findImports('system/wait.ts', text);
    expect(judgeImport('system/wait.ts', imported)).toBe(
      'system/wait.ts imports agent/run.ts: system/ may not import agent/',
    );
  });

  it('finds a folder that is not in the table', () => {
    expect(judgeImport('utils/text.ts', 'protocol/error.ts')).toContain('utils/ is not in setup/folders.ts');
  });

  it('allows what the table allows, and everything within a folder', () => {
    expect(judgeImport('agent/run.ts', 'protocol/error.ts')).toBeUndefined();
    expect(judgeImport('agent/run.ts', 'agent/boot/command.ts')).toBeUndefined();
  });
});
