import { describe, expect, it } from 'vitest';
import { repositoryOf, thisRepository } from '../repository.ts';
import { habits } from './habits.ts';

const TEXT = /\.(?:ts|tsx|mjs|md|sh|c|css)$/;
/** The list itself, what tries it out, and what others wrote. */
const LEFT_OUT = /^test\/docs\/habits|(^|\/)(fixtures|generated|google)\//;

it('code and docs are in plain English', () => {
  const repository = thisRepository();
  const files = repository.files.filter((file) => TEXT.test(file) && !LEFT_OUT.test(file));
  expect(habits(repository, files)).toEqual([]);
});

describe('the test of habits', () => {
  const found = (text: string) => habits(repositoryOf({ 'page.md': text }), ['page.md']);

  it.each([
    ['\nWhoever reads it', 'page.md:2 Whoever (name the actor: the caller, the node, a person who)'],
    ['after so many runs', 'page.md:1 so many (this many, a limit of, the size of)'],
    ['the word \u00bbso', 'page.md:1 \u00bb (English quotation marks)'],
    ['a key that is none', 'page.md:1 that is none (an invalid one, not one of)'],
  ])('finds %j', (text, message) => {
    expect(found(text)).toEqual([message]);
  });

  it.each(['undefined where there is none', 'so many that it fails', 'however', 'none of them'])(
    'lets %j pass',
    (text) => {
      expect(found(text)).toEqual([]);
    },
  );
});
