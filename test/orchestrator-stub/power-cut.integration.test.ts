import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exploreFiles, type FolderAfterCrash } from '../crash-explorer/files/explore-files.ts';
import { type FileOperation, recordFiles } from '../crash-explorer/files/record-files.ts';
import { rounds, testSeed } from '../seeds/seeds.ts';
import { RunningStub } from './running-stub.ts';

const SEED = 20_261_118;
/** Each one starts an orchestrator. */
const CRASHES = rounds(16);
const SLICE = 10;
const PROGRAM = new URL('../crash-explorer/files/orchestrator-program.ts', import.meta.url).pathname;

let folder: string;
let operations: FileOperation[];
beforeAll(async () => {
  folder = mkdtempSync('/dev/shm/kindling-stub-crash-');
  const state = join(folder, 'state');
  mkdirSync(state);
  operations = await recordFiles(state, join(folder, 'record'), PROGRAM, [state]);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts an orchestrator in what a power cut has left, and says what it lacks of what was acknowledged. */
async function fault({ files, notes, at }: FolderAfterCrash): Promise<string | undefined> {
  const stateFolder = join(folder, `crash-${at}`);
  rmSync(stateFolder, { recursive: true, force: true });
  mkdirSync(stateFolder);
  for (const [name, content] of files) {
    if (name.endsWith('-shm')) continue;
    mkdirSync(dirname(join(stateFolder, name)), { recursive: true });
    writeFileSync(join(stateFolder, name), content);
  }
  try {
    await using running = await RunningStub.start({ stateFolder });
    const fingerprint = createHash('sha256').update(running.stub.ca).digest('hex');
    const { body } = await running.api('GET', '/api/v1/profiles');
    const known = JSON.stringify(body);
    const acknowledged = notes.filter((note) => /^(trust|profile) /.test(note));
    const there = (note: string) => {
      const [kind, value = ''] = note.split(' ');
      return kind === 'trust'
        ? note === `trust ${fingerprint} ${running.stub.token}`
        : known.includes(`http://example.org/${value}"`);
    };
    const lost = acknowledged.filter((note) => !there(note));
    return lost.length > 0 ? `before operation ${at}: ${lost.join(', ')} lost` : undefined;
  } catch (thrown) {
    return `before operation ${at}: does not start: ${(thrown as Error).message}`;
  }
}

async function faults(recorded: readonly FileOperation[], count: number): Promise<string[]> {
  const found: string[] = [];
  for (const crash of exploreFiles(recorded, { count, seed: testSeed(SEED) })) {
    const wrong = await fault(crash);
    if (wrong) found.push(wrong);
  }
  return found;
}

describe('after a power cut at any moment of its first start and of the next', () => {
  test('an orchestrator starts, has what it acknowledged, and is the same to those who trusted it', async () => {
    expect(await faults(operations, CRASHES)).toEqual([]);
  });

  test('keys that were not synced are missed', async () => {
    const isKey = ({ kind, ...each }: FileOperation) =>
      kind === 'sync' && 'name' in each && !each.name.includes('sqlite');
    expect(operations.filter(isKey).length).toBeGreaterThan(2);
    expect(
      await faults(
        operations.filter((each) => !isKey(each)),
        SLICE,
      ),
    ).not.toEqual([]);
  });
});
