import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/explanation/from-power-on-to-disk.md', 'utf8');
const hops = [...page.matchAll(/^\| \d+ +\| `([^`]+)` +\| `([^`]+)`/gm)];

test('from power-on to the first byte there are at most 20 hops', () => {
  expect(hops.length).toBeGreaterThan(10);
  expect(hops.length).toBeLessThanOrEqual(20);
});

test.each(hops.map(([, file = '', name = '']) => [file, name]))('%s has %s', (file, name) => {
  expect(readFileSync(file, 'utf8')).toContain(name);
});
