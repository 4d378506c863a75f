import { describe, expect, it } from 'vitest';
import { repositoryOf, thisRepository } from '../repository.ts';
import { brokenCitations } from './broken-citations.ts';

/** These make wrong citations up. */
const TESTS_OF_CITATIONS = /^test\/docs\//;

it('every page, decision, trap and defect that code cites is in the repository', () => {
  const repository = thisRepository();
  const code = repository.files.filter(
    (file) =>
      /(^|\/)(init|[^/]+\.(ts|mjs|sh|c|h|ipxe|yaml|cfg|proto))$/.test(file) && !TESTS_OF_CITATIONS.test(file),
  );
  expect(code).toEqual(expect.arrayContaining(['agent/main.ts', 'initrd/init/init']));
  expect(brokenCitations(repository, code)).toEqual([]);
});

describe('the test of citations', () => {
  const pages = {
    'README.md': '',
    'docs/background/emf.md': '# EMF\n\n## Erasing disks\n\n## Compatibility traps\n\n1. One\n2. Two\n',
    'docs/background/k3s.md': '## Defects of the EMT-S installer\n\n1. One\n',
    'docs/decisions/001-first.md': '# 001\n',
  };
  const broken = (text: string) => brokenCitations(repositoryOf({ ...pages, 'code.ts': text }), ['code.ts']);

  it.each([
    '// docs/background/emf.md#erasing-disks (decision 001), trap 2, README.md',
    "hint: 'see docs/background/emf.md',",
    "it('traps 1 and 2, defect 1', () => {",
    "const PAGE = 'errors.md';",
    'import(`../docs/reference/gone.md`)',
  ])('lets %s pass', (text) => {
    expect(broken(text)).toEqual([]);
  });

  it.each([
    ['\n/** As in emf.md 4.8. */', 'code.ts:2 emf.md'],
    ['// see shared/emf.md', 'code.ts:1 shared/emf.md'],
    ["hint: 'see docs/reference/gone.md'", 'code.ts:1 docs/reference/gone.md'],
    ['// docs/background/emf.md#gone', 'code.ts:1 docs/background/emf.md#gone'],
    ['x(); // (decision 099)', 'code.ts:1 decision 099'],
    ["it('trap 3: is new')", 'code.ts:1 trap 3'],
    ["it('traps 1 and 3')", 'code.ts:1 traps 1 and 3'],
    ['// defect 2 of the installer', 'code.ts:1 defect 2'],
  ])('finds %j', (text, message) => {
    expect(broken(text)).toEqual([message]);
  });
});
