import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileExists } from '../../system/file-exists.ts';

test('says whether something is there; a link counts if it leads somewhere', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'file-exists-'));
  symlinkSync(folder, join(folder, 'good'));
  symlinkSync('nowhere', join(folder, 'dangling'));
  const answers = await Promise.all(
    ['.', 'good', 'dangling', 'nothing'].map((name) => fileExists(join(folder, name))),
  );
  rmSync(folder, { recursive: true });
  expect(answers).toEqual([true, true, false, false]);
});
