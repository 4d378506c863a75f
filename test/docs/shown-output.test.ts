import { describe, expect, it } from 'vitest';
import { differenceFromShown } from './shown-output.ts';

const differs = (shown: string, printed: string, options = {}) =>
  differenceFromShown(shown.split('\n'), printed.split('\n'), options);

describe('what a page shows is what is printed', () => {
  it.each([
    ['a line', 'saved profile edge', 'saved profile edge'],
    ['times', 'ready after 990 ms, 1.5 s', 'ready after 1,204 ms, 12 s'],
    ['ids of nodes', 'till-7 is host-b44f85ed', 'till-7 is host-00000001'],
    ['UUIDs', 'stick 1b4e28ba-2fa1-11d2-883f-b9a761bde3fb', 'stick 22953329-ba2a-4b4e-9f1f-db132112c1fe'],
    [
      'keys',
      'key BQAzkeKxBIPMeSQ5HprEiuvwXr4Ly957czDL4VKYis0',
      'key WFVL40kiBxtrsf41ayIMHRNaeeMJ1EcceMdcOUsBDRY',
    ],
    ['sizes that are about right', '300 MB written', '321 MB written'],
    ['columns', 'ID  NAME', 'ID             NAME  '],
    ['text that is left out', 'a … c', 'a b c'],
    ['lines that are left out', 'a\n…\nd\n…', 'a\nb\nc\nd\ne'],
    ['left-out lines of which there are none', 'a\n…\nb', 'a\nb'],
  ])('but for %s', (_, shown, printed) => {
    expect(differs(shown, printed)).toBeUndefined();
  });

  it('as far as printing has come', () => {
    expect(differs('a', 'a\nb', { mayGoOn: true })).toBeUndefined();
  });
});

describe('a lie is found:', () => {
  it.each([
    ['another word', 'saved profile edge', 'profile edge is there', 'printed is “profile edge is there”'],
    ['a number that is no time', 'row 5', 'row 6', 'shows “row 5”'],
    ['a size that is far off', '268 MB', '400 MB', 'shows “268 MB”'],
    ['another unit', '5 MB', '5 GB', 'shows “5 MB”'],
    ['a line that was not printed', 'a\nb', 'a', 'shows “b”, printed is nothing like it'],
    ['a line too many', 'a', 'a\nb', 'printed is also “b”'],
    ['a line in between', 'a\nc', 'a\nb\nc', 'shows “c”, printed is “b”'],
    ['after left-out lines', '…\nz', 'a\nb', 'shows “z”'],
    ['a sign that means something in a pattern', 'a.c', 'abc', 'shows “a.c”'],
  ])('%s', (_, shown, printed, difference) => {
    expect(differs(shown, printed)).toContain(difference);
  });
});
