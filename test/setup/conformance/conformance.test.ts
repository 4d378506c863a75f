import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DOCUMENTS } from '../../../setup/conformance/conformance.ts';

const items = DOCUMENTS.flatMap((document) => document.items);

test('every item of the five documents is listed once, in order', () => {
  expect(items.map(({ id }) => id)).toEqual(Array.from({ length: 244 }, (_, index) => index + 1));
});

test('every named test exists', () => {
  const named = [...new Set(items.flatMap(({ tests }) => tests))];
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((file) => !existsSync(file))).toEqual([]);
});

test('what is done has a test, and what is open says what is missing', () => {
  expect(items.filter(({ state, tests }) => state === 'done' && tests.length === 0)).toEqual([]);
  expect(items.filter(({ state, remark }) => state === 'open' && !remark)).toEqual([]);
});
