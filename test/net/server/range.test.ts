import { expect, test } from 'vitest';
import { decideRange } from '../../../net/server/range.ts';
import { safeSegments } from '../../../net/server/static-files.ts';

const file = { size: 100, mtime: new Date('2026-11-16T03:00:00Z') };
const part = (start: number, end: number) => ({ kind: 'part', start, end });
const whole = { kind: 'whole', start: 0, end: 99 };

test.each([
  [undefined, whole],
  ['bytes=0-9', part(0, 9)],
  ['bytes=90-', part(90, 99)],
  ['bytes=-5', part(95, 99)],
  ['bytes=-500', part(0, 99)],
  ['bytes=50-500', part(50, 99)],
  ['bytes=100-', { kind: 'unsatisfiable' }],
  ['bytes=-0', { kind: 'unsatisfiable' }],
  ['bytes=9-5', whole],
  ['bytes=0-1,5-6', whole],
  ['lines=1-2', whole],
  ['bytes=-', whole],
])('%s', (range, expected) => {
  expect(decideRange(range, undefined, '"e"', file)).toEqual(expected);
});

test('If-Range gives the rest only of the file that was begun', () => {
  expect(decideRange('bytes=10-', '"e"', '"e"', file)).toEqual(part(10, 99));
  expect(decideRange('bytes=10-', '"old"', '"e"', file)).toEqual(whole);
  expect(decideRange('bytes=10-', file.mtime.toUTCString(), '"e"', file)).toEqual(part(10, 99));
});

test.each([
  '..',
  'a/../b',
  '%2e%2e/x',
  'a//b',
  '',
  'a%2fb',
  '..%2f..%2fetc%2fpasswd',
  'a%5c..',
  'a%00b',
  '%zz',
  '.',
])('“%s” is no path of a file', (path) => {
  expect(() => safeSegments(path)).toThrow('not the path of a file');
});

test('ordinary paths pass', () => {
  expect(safeSegments('keys/db%20new.der')).toEqual(['keys', 'db new.der']);
  expect(safeSegments('..hidden/a..b')).toEqual(['..hidden', 'a..b']);
});
