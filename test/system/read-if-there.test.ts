import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readIfThere } from '../../system/read-if-there.ts';

test('a file is its text or nothing, and one that cannot be read is an error', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'read-'));
  const file = join(folder.path, 'file');
  writeFileSync(file, 'text');
  expect(readIfThere(file)).toBe('text');
  expect(readIfThere(join(folder.path, 'none'))).toBeUndefined();
  expect(readIfThere(join(file, 'below'))).toBeUndefined();
  expect(() => readIfThere(folder.path)).toThrow(expect.objectContaining({ code: 'EISDIR' }));
});
