import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addRecoveryKey } from '../../../agent/standalone/recovery-key-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-keys-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const key = (keyId: string) => ({ keyId, recoveryKey: `secret of ${keyId}`, disk: {} });
const idsIn = (file: string) =>
  (JSON.parse(readFileSync(file, 'utf8')) as { keyId: string }[]).map(({ keyId }) => keyId);

test('a key is added to those of the machine, the same one once', async () => {
  const file = join(folder, 'keys', 'node.json');
  for (const keyId of ['a', 'b', 'a']) await addRecoveryKey(file, key(keyId));
  expect(idsIn(file)).toEqual(['b', 'a']);
});

test('a file of keys that cannot be read is put aside, and not written over', async () => {
  const file = join(folder, 'node.json');
  writeFileSync(file, '[{"keyId":"a","recoveryKey":"secret of a"');
  await addRecoveryKey(file, key('b'));
  expect(idsIn(file)).toEqual(['b']);
  expect(readFileSync(`${file}.damaged`, 'utf8')).toContain('secret of a');
});
