import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placeOf } from '../../../orchestrator-stub/seal/seal.ts';
import { exploreFiles, type FolderAfterCrash } from '../../crash-explorer/files/explore-files.ts';
import { type FileOperation, recordFiles } from '../../crash-explorer/files/record-files.ts';
import { rounds, testSeed } from '../../seeds/seeds.ts';
import { testSeal } from '../seal/test-seal.ts';

const SEED = 20_261_118;
const CRASHES = rounds(1200);
/** How many states of a wrong order show it. */
const SLICE = 400;
const CHANGES = 120;
const PROGRAM = new URL('../../crash-explorer/files/store-program.ts', import.meta.url).pathname;

let folder: string;
let operations: FileOperation[];
beforeAll(async () => {
  // In RAM: every crash is written there and opened.
  folder = mkdtempSync('/dev/shm/kindling-store-crash-');
  const state = join(folder, 'state');
  mkdirSync(state);
  operations = await recordFiles(state, join(folder, 'record'), PROGRAM, [state, '1', String(CHANGES)]);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What the orchestrator would find when it starts again. */
function changeFound({ files }: FolderAfterCrash): number | string {
  const crashed = join(folder, 'crashed');
  rmSync(crashed, { recursive: true, force: true });
  mkdirSync(crashed);
  // The index of the log lives in shared memory; SQLite makes it anew when it is the first to open the database.
  for (const [name, content] of files)
    if (!name.endsWith('-shm')) writeFileSync(join(crashed, name), content);
  using database = new DatabaseSync(join(crashed, 'kindling.sqlite'));
  try {
    const { integrity_check: integrity } = database.prepare('PRAGMA integrity_check').get() ?? {};
    if (integrity !== 'ok') return `damaged: ${integrity}`;
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE name = 'templates'").all();
    if (tables.length === 0) return 0;
    const last = (table: string) => {
      const row = database.prepare(`SELECT document FROM ${table} WHERE name = 'last'`).get();
      if (!row) return 0;
      const document = testSeal().open(String(row['document']), placeOf(table, 'last'));
      return (JSON.parse(document) as { change: number }).change;
    };
    return last('settings') === last('templates') ? last('settings') : 'half of a change';
  } catch (thrown) {
    return `cannot be opened: ${(thrown as Error).message}`;
  }
}

/** What is wrong with what a power cut has left; undefined if nothing is. */
function fault(crash: FolderAfterCrash): string | undefined {
  const found = changeFound(crash);
  if (typeof found === 'string') return `before operation ${crash.at}: ${found}`;
  const noted = crash.notes.map((note) => note.split(' '));
  const synced = Number(noted.findLast(([durability]) => durability === 'synced')?.[1] ?? 0);
  const begun = Number(noted.at(-1)?.[1] ?? 0) + 1;
  if (found < synced) return `before operation ${crash.at}: ${synced} was acknowledged, ${found} is there`;
  return found > begun ? `before operation ${crash.at}: ${found} is there too early` : undefined;
}

function faults(recorded: readonly FileOperation[], count: number): string[] {
  const crashes = exploreFiles(recorded, { count, seed: testSeed(SEED) });
  return Array.from(crashes, fault).filter((each) => each !== undefined);
}

const isOf = (ending: string) => (operation: FileOperation) =>
  operation.kind === 'sync' && operation.name.endsWith(ending);

describe('a power cut at any moment of the database', () => {
  test('takes nothing that was acknowledged, and leaves each change whole or out', () => {
    expect(faults(operations, CRASHES).slice(0, 5)).toEqual([]);
    // The log was begun anew, and put into the database, more than once.
    expect(operations.filter(isOf('kindling.sqlite')).length).toBeGreaterThan(3);
  });

  test('is noticed where COMMIT does not wait for the disk', () => {
    expect(
      faults(
        operations.filter((each) => !isOf('-wal')(each)),
        SLICE,
      ),
    ).not.toEqual([]);
  });

  test('is noticed where the log is begun anew before the database has what was in it', () => {
    expect(
      faults(
        operations.filter((each) => !isOf('kindling.sqlite')(each)),
        SLICE,
      ),
    ).not.toEqual([]);
  });
});
