import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** The titles of all tests of the wire, as they stand in the files. */
const titles = globSync('test/{wire,agent,orchestrator-stub,protocol,ipxe}/**/*.test.ts').flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:trap|row)[^'`]*/g)].map(([title]) => title),
);

test('each of the 17 compatibility traps has a test that is named after it', () => {
  const tested = (number: number) =>
    titles.some((title) => new RegExp(`^trap (\\d+ and )?${number}( and \\d+)?:`).test(title));
  const missing = Array.from({ length: 17 }, (_, index) => index + 1).filter((number) => !tested(number));
  expect(missing).toEqual([]);
});
