import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SETTINGS_PATH, type Seed, seedFiles } from '../../actions/cloud-init/seed-files.ts';
import { exploreFiles, type FolderAfterCrash } from '../crash-explorer/files/explore-files.ts';
import type { Placement } from '../crash-explorer/files/place-program.ts';
import { type FileOperation, recordFiles } from '../crash-explorer/files/record-files.ts';
import { rounds, testSeed } from '../seeds/seeds.ts';

const SEED = 20_261_118;
const CRASHES = rounds(1500);
const PROGRAM = new URL('../crash-explorer/files/place-program.ts', import.meta.url).pathname;
const PADDING = '# filler\n'.repeat(500);

type Files = ReadonlyMap<string, Buffer>;
type Judge = (files: Files) => string | undefined;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-place-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What a program does to the files that are there before. */
async function record(placement: Placement, before: Files): Promise<FileOperation[]> {
  const root = join(folder, 'root');
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root);
  for (const [name, content] of before) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  return recordFiles(root, join(folder, 'record'), PROGRAM, [root, JSON.stringify(placement)]);
}

function faults(operations: readonly FileOperation[], before: Files, judge: Judge): string[] {
  const crashes = exploreFiles(operations, { before, count: CRASHES, seed: testSeed(SEED) });
  return Array.from(crashes, ({ files, at }: FolderAfterCrash) => {
    const fault = judge(files);
    return fault && `before operation ${at}: ${fault}`;
  }).filter((fault) => fault !== undefined);
}

const withoutSyncs = (operations: readonly FileOperation[]) =>
  operations.filter(({ kind }) => kind !== 'sync');

const OLD: Seed = { userData: `#cloud-config\n${PADDING}hostname: old\n`, vendorData: '#cloud-config\n{}\n' };
const NEW: Seed = {
  userData: `#cloud-config\n${PADDING}hostname: new\n`,
  networkConfig: `version: 2\n${PADDING}ethernets: {}\n`,
};

const placed = (kind: 'mutable' | 'immutable', seed: Seed): Files =>
  new Map(seedFiles(kind, seed).map(({ path, contents }) => [path.slice(1), Buffer.from(contents)]));

/** Of these files, those by which a seed is known, as one text. */
function seedIn(files: Files, kind: 'mutable' | 'immutable'): string {
  const isSeed = (name: string) =>
    kind === 'immutable' ? `/${name}` === SETTINGS_PATH : /seed\/nocloud\/[a-z-]+$/.test(name);
  const parts = [...files].filter(([name]) => isSeed(name)).map(([name, content]) => `${name}\n${content}`);
  return parts.sort().join('\n');
}

/** DataSourceNoCloud.py takes a seed folder that has both of these, and whatever else is there with them. */
const isTaken = (files: Files, kind: 'mutable' | 'immutable') =>
  kind === 'immutable'
    ? files.has(SETTINGS_PATH.slice(1))
    : ['user-data', 'meta-data'].every((name) => files.has(`var/lib/cloud/seed/nocloud/${name}`));

describe('after a power cut at any moment', () => {
  describe.each(['mutable', 'immutable'] as const)('cloud-init of a system that is %s', (kind) => {
    const seeds = [OLD, NEW].map((seed) => seedIn(placed(kind, seed), kind));
    const judge: Judge = (files) => {
      if (!isTaken(files, kind)) return undefined;
      return seeds.includes(seedIn(files, kind)) ? undefined : 'half of a seed, and cloud-init takes it';
    };

    test.each([
      ['none was there', new Map<string, Buffer>()],
      ['there was another', placed(kind, OLD)],
    ])('finds a whole seed or none, where %s', async (_, before) => {
      const operations = await record({ what: 'seed', kind, seed: NEW }, before);
      expect(faults(operations, before, judge).slice(0, 5)).toEqual([]);
      expect(faults(withoutSyncs(operations), before, judge)).not.toEqual([]);
    });
  });

  test('cloud-init would find half a seed if what makes it take one came first', async () => {
    const operations = await record({ what: 'seed', kind: 'mutable', seed: NEW }, new Map());
    const whole = seedIn(placed('mutable', NEW), 'mutable');
    const judge: Judge = (files) =>
      isTaken(files, 'mutable') && seedIn(files, 'mutable') !== whole ? 'half' : undefined;
    const isOfKey = (each: FileOperation) => 'name' in each && /(meta|user)-data/.test(each.name);
    const isRest = (each: FileOperation) => !isOfKey(each);
    const early = [...operations.filter(isOfKey), ...operations.filter(isRest)].map((each, covers) =>
      each.kind === 'sync' ? { ...each, covers } : each,
    );
    expect(faults(early, new Map(), judge)).not.toEqual([]);
  });

  test('firmware finds a whole boot loader at the removable path or none', async () => {
    const loader = (name: string) => Buffer.from(`${name}\n${PADDING}`);
    const before = new Map([
      ['EFI/ubuntu/shimx64.efi', loader('shim')],
      ['EFI/ubuntu/grubx64.efi', loader('grub')],
    ]);
    const judge: Judge = (files) => {
      const shim = files.get('EFI/BOOT/BOOTX64.EFI');
      if (!shim) return undefined;
      if (!shim.equals(loader('shim'))) return 'half a loader';
      return files.get('EFI/BOOT/grubx64.efi')?.equals(loader('grub')) ? undefined : 'half of what it starts';
    };
    const operations = await record({ what: 'loaders' }, before);
    expect(faults(operations, before, judge).slice(0, 5)).toEqual([]);
    expect(faults(withoutSyncs(operations), before, judge)).not.toEqual([]);
  });

  test('no recovery key that was on the stick is lost', async () => {
    const keys = Array.from({ length: 4 }, (_, i) => ({
      keyId: `key-${i}`,
      recoveryKey: String(i).repeat(400),
      disk: {},
    }));
    const before = new Map([['recovery-keys/node.json', Buffer.from(JSON.stringify(keys.slice(0, 2)))]]);
    const judge: Judge = (files) => {
      const text = files.get('recovery-keys/node.json')?.toString() ?? '';
      return keys.slice(0, 2).every(({ recoveryKey }) => text.includes(recoveryKey)) &&
        text.trim().endsWith(']')
        ? undefined
        : 'a key is lost';
    };
    const operations = await record({ what: 'recovery-keys', keys: keys.slice(2) }, before);
    expect(faults(operations, before, judge).slice(0, 5)).toEqual([]);
    expect(faults(withoutSyncs(operations), before, judge)).not.toEqual([]);
  });
});
