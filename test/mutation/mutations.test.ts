import { expect, it } from 'vitest';
import { mutate, mutationsOf } from './mutations.ts';
import { nearestTests } from './nearest-tests.ts';

const mutants = (source: string) => mutationsOf(source).map((mutation) => mutate(source, mutation));

it.each([
  ['if (a) b;', ['if (!(a)) b;', 'if (a) ;']],
  ['const x = a === b ? c : d;', ['const x = !(a === b) ? c : d;', 'const x = (a) !== (b) ? c : d;']],
  [
    'const x = a && b < 3;',
    ['const x = (a) || (b < 3);', 'const x = a && (b) <= (3);', 'const x = a && b < 4;'],
  ],
  ['const x = true;', ['const x = false;']],
  ['function f() { g(); }', ['function f() {}', 'function f() { ; }']],
  ['class A { m(): void { return; } }', ['class A { m(): void {} }']],
])('%s has these mutants', (source, expected) => {
  expect(mutants(source)).toEqual(expected);
});

it.each([
  "import { a } from './a.ts';",
  'type A = 1 | true;',
  'interface A { b: 1 }',
  'throw new Error(a ? "b" : "c");',
  'const x = () => {};',
])('%s is left as it is', (source) => {
  expect(mutants(source)).toEqual([]);
});

it('what is cast to a type is mutated, the type is not', () => {
  expect(mutants('const x = (a > b) as true;')).toEqual(['const x = ((a) >= (b)) as true;']);
});

it('the tests of a file are those that reach it by imports, the nearest first', () => {
  const imports = new Map([
    ['agent/a.ts', ['agent/b.ts']],
    ['agent/b.ts', []],
    ['test/agent/a.test.ts', ['agent/a.ts']],
    ['test/agent/b.test.ts', ['test/agent/start.ts']],
    ['test/agent/start.ts', ['agent/a.ts']],
    ['test/agent/c.test.ts', ['agent/b.ts']],
    ['test/other.test.ts', []],
  ]);
  expect(nearestTests(imports, 'agent/b.ts')).toEqual([
    'test/agent/c.test.ts',
    'test/agent/a.test.ts',
    'test/agent/b.test.ts',
  ]);
});
