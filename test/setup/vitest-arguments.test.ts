import { expect, test } from 'vitest';
import { pathsBeforeUpdate } from '../../setup/vitest-arguments.ts';

test('a path after -u stays a path: only its snapshots are written anew', () => {
  expect(pathsBeforeUpdate(['--project', 'unit', '-u', 'test/x.test.ts'])).toEqual([
    '--project',
    'unit',
    'test/x.test.ts',
    '-u',
  ]);
  expect(pathsBeforeUpdate(['test/x.test.ts'])).toEqual(['test/x.test.ts']);
});
