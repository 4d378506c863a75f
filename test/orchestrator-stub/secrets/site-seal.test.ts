import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KeyFile } from '../../../orchestrator-stub/seal/key-file.ts';
import { SiteSeal } from '../../../orchestrator-stub/secrets/site-seal.ts';
import { SqliteStore } from '../../../orchestrator-stub/store/sqlite-store.ts';
import { describeSiteSeal, fillPlain, PLAIN } from './site-seal-contract.ts';

const rethrow = (thrown: unknown) => {
  throw thrown;
};
describeSiteSeal('SQLite', async () => new SqliteStore(':memory:', { onDefect: rethrow }));

let stateFolder: string;
beforeEach(() => {
  stateFolder = mkdtempSync(join(tmpdir(), 'kindling-seal-'));
});
afterEach(() => rmSync(stateFolder, { recursive: true }));

test('what an older version left in the file and in its log is gone from both, not only from the rows', async () => {
  const bytes = () =>
    readdirSync(stateFolder)
      .filter((name) => name.startsWith('kindling.sqlite'))
      .map((name) => readFileSync(join(stateFolder, name), 'latin1'))
      .join('');
  const open = () => new SqliteStore(join(stateFolder, 'kindling.sqlite'), { onDefect: rethrow });
  const before = open();
  await fillPlain(before);
  await before.close();
  expect(bytes()).toContain(PLAIN);

  const after = open();
  await SiteSeal.open(after, { stateFolder, environment: {} });
  expect(bytes()).not.toContain(PLAIN);
  await after.close();
  expect(statSync(join(stateFolder, 'state-key')).mode & 0o777).toBe(0o600);
});

test('the key is in the file that was given, else in systemd’s credential, else in the state folder', () => {
  const environment = { CREDENTIALS_DIRECTORY: stateFolder };
  const where = (change: object) => {
    const { path, isOurs } = new KeyFile({ stateFolder: '/s', environment, ...change });
    return [path, isOurs];
  };
  expect(where({}), 'a unit with other credentials').toEqual(['/s/state-key', true]);
  writeFileSync(join(stateFolder, 'kindling-state-key'), '');
  expect(where({})).toEqual([join(stateFolder, 'kindling-state-key'), false]);
  expect(where({ file: '/etc/key' })).toEqual(['/etc/key', false]);
  expect(where({ environment: {} })).toEqual(['/s/state-key', true]);
});
