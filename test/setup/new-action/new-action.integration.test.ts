import { expect, it } from 'vitest';
import { Reader } from '../../docs/reader.ts';

/** What `npm run check` does, as far as a new action can break it. */
const CHECKS = [
  'node_modules/.bin/tsc --noEmit',
  'node_modules/.bin/biome check --error-on-warnings actions/catalog.ts actions/probe-fan test/actions/probe-fan test/actions/conformance.test.ts',
  'npm run test:unit -- test/actions/probe-fan test/actions/catalog.test.ts test/actions/conformance.test.ts test/actions/contracts.test.ts test/actions/reference-page.test.ts test/layout',
];

it('a new action passes every check as it was made', async () => {
  await using reader = await Reader.arrive();
  expect(await reader.type('npm run new-action -- probe-fan')).toEqual({
    exitCode: 0,
    printed: [
      'actions/probe-fan/probe-fan.ts',
      'test/actions/probe-fan/probe-fan.test.ts',
      'actions/catalog.ts',
      'test/actions/conformance.test.ts',
      'docs/reference/actions.md',
      'next: npm run test:unit -- test/actions/probe-fan',
    ],
  });
  for (const check of CHECKS) {
    const { exitCode, printed } = await reader.type(check, 600_000);
    expect(exitCode, printed.join('\n')).toBe(0);
  }
}, 900_000);

it('a name that is taken is refused, and nothing is written', async () => {
  await using reader = await Reader.arrive();
  const { exitCode, printed } = await reader.type('npm run new-action -- image2disk');
  expect(exitCode).toBe(2);
  expect(printed.join('\n')).toContain('there is an action image2disk already');
  expect(await reader.type('test -e ~/.changes/actions')).toMatchObject({ exitCode: 1 });
});
