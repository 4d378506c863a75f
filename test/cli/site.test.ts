import { expect, test } from 'vitest';
import { readSetting } from '../../cli/site.ts';

test.each([
  ['acceptUnregistered=true', ['acceptUnregistered', true]],
  ['firstBootMinutes=45', ['firstBootMinutes', 45]],
  ['defaultProfile=null', ['defaultProfile', null]],
  ['ntpServers=["a","b"]', ['ntpServers', ['a', 'b']]],
  ['httpProxy=http://proxy:3128/?a=b', ['httpProxy', 'http://proxy:3128/?a=b']],
  ['noProxy=', ['noProxy', '']],
])('%s', (text, expected) => {
  expect(readSetting(text)).toEqual(expected);
});

test.each(['defaultProfile', '=edge', ''])('"%s" is no setting', (text) => {
  expect(() => readSetting(text)).toThrow(/name=value/);
});
