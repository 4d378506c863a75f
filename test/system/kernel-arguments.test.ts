import { expect, test } from 'vitest';
import { parseKernelArguments } from '../../system/kernel-arguments.ts';
import fc from '../seeds/fast-check.ts';

test('keys may come several times, and the last one counts', () => {
  const args = parseKernelArguments('console=tty0 console=ttyS0,115200 quiet');
  expect(args.all('console')).toEqual(['tty0', 'ttyS0,115200']);
  expect(args.last('console')).toBe('ttyS0,115200');
  expect(args.has('quiet')).toBe(true);
  expect(args.last('quiet')).toBeUndefined();
});

test.each([
  ['dyndbg="file a.c +p"', 'dyndbg', 'file a.c +p'],
  ['"a=b c"', 'a', 'b c'],
  ['a="unclosed text', 'a', 'unclosed text'],
  ['a==b', 'a', '=b'],
  ['a=', 'a', ''],
  ['ip=[2001:db8::1]:::64::eth0:none', 'ip', '[2001:db8::1]:::64::eth0:none'],
])('%s is split as the kernel splits it', (line, key, value) => {
  expect(parseKernelArguments(line).last(key)).toBe(value);
});

test('any line is read without an error', () => {
  fc.assert(fc.property(fc.string(), (line) => void parseKernelArguments(line)));
});

test('arguments without quotes or spaces come back as they went in', () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9._-]{0,10}$/);
  const value = fc.stringMatching(/^[^\s"=]{0,20}$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(word, value)), (pairs) => {
      const args = parseKernelArguments(pairs.map(([key, text]) => `${key}=${text}`).join(' '));
      expect(args.entries).toEqual(pairs.map(([key, text]) => ({ key, value: text })));
    }),
  );
});
