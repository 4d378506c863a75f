import { expect, test } from 'vitest';
import { unfinishedLine } from '../../../agent/console/unfinished-line.ts';

test.each([
  ['', ''],
  ['Username: ', 'Username: '],
  ['Username: ada', 'Username: ada'],
  ['Username: adb\b \ba', 'Username: ada'],
  ['Username: abc\b \b\b \b\b \bada', 'Username: ada'],
  ['Username: ada\r\n', ''],
  ['Username: ada\r\nPassword: ', 'Password: '],
])('%j leaves %j on the last line', (text, line) => {
  expect(unfinishedLine(text)).toBe(line);
});
