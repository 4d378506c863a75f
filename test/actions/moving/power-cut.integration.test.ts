import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ActionContext } from '../../../actions/contract/action.ts';
import { BlockDevice } from '../../../actions/disks/block-device.ts';
import { LUKS_HEADER_BYTES } from '../../../actions/encryption/luks.ts';
import { clearCopies, encryptRoot, encryptState } from '../../../actions/encryption/move-encrypted.ts';
import { moveToLayout } from '../../../actions/microvisor/move-partitions.ts';
import { type MoveJournal, writeJournal } from '../../../actions/moving/move-journal.ts';
import { Resources } from '../../../actions/resources/resources.ts';
import { encodeGpt } from '../../../formats/partition-table/gpt-encode.ts';
import type { Run } from '../../../system/run.ts';
import { explore } from '../../crash-explorer/explore.ts';
import type { DiskView } from '../../crash-explorer/find-system.ts';
import { viewOf } from '../../crash-explorer/judge.ts';
import { LoopWith } from '../../crash-explorer/loop-with.ts';
import { recordBlockDevices } from '../../crash-explorer/record-block-devices.ts';
import { tableOf } from '../../crash-explorer/table-of.ts';
import type { Operation } from '../../crash-explorer/trace.ts';
import { rounds, testSeed } from '../../seeds/seeds.ts';
import { HEADER_WRITTEN, withoutCipher } from '../encryption/without-cipher.ts';

const MIB = 2 ** 20;
const KIB = 1024;
const SEED = 20261118;
const STATES = rounds(1000);
const GUID = '0fc63daf-8483-4772-8e79-3d69d8477de4';

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
/** Is all of this on the disk, from here on? */
const holds = (disk: DiskView, at: number, bytes: Buffer) => {
  const { sectorSize } = disk;
  for (let done = 0; done < bytes.length; done += sectorSize) {
    if (!disk.sector((at + done) / sectorSize).equals(bytes.subarray(done, done + sectorSize))) return false;
  }
  return true;
};

/** Read the way the action does: it is there, or it says nothing. */
function journalIn(
  disk: DiskView,
  reserved: { startBytes: number; sizeBytes: number },
): MoveJournal | undefined {
  const { sectorSize } = disk;
  const first = (reserved.startBytes + reserved.sizeBytes - MIB) / sectorSize;
  const sectors = Array.from({ length: 4096 / sectorSize }, (_, i) => disk.sector(first + i));
  const text = Buffer.concat(sectors).toString('latin1');
  try {
    return JSON.parse(/^KINDLING-MOVE-1 ([^\0]*)/.exec(text)?.[1] ?? '') as MoveJournal;
  } catch {
    return undefined;
  }
}

interface Recorded {
  before: Buffer;
  sectorSize: number;
  operations: Operation[];
  judge: (disk: DiskView) => string;
}

function expectAllWhole({ operations, ...disk }: Recorded): void {
  const found = explore(operations, { ...disk, count: STATES, seed: testSeed(SEED) });
  expect(found.half.slice(0, 5), `of ${found.states} disks`).toEqual([]);
  expect(found.states).toBe(STATES);
}

/** Without each of these groups of syncs (by number) there must be bad disks; gives the groups that were not missed. */
function notMissed({ operations, ...disk }: Recorded, groups: readonly number[][]): number[][] {
  const seed = testSeed(SEED);
  const syncs = operations.filter(({ kind }) => kind === 'sync');
  return groups.filter((group) => {
    const missing = new Set(group.map((number) => syncs[number]));
    const mutated = operations.filter((each) => !missing.has(each));
    return explore(mutated, { ...disk, count: 100, seed }).half.length === 0;
  });
}

describe('while an immutable system gets its two slots, a power cut at any moment', {
  timeout: 300_000,
}, () => {
  const part = (number: number, startBytes: number, sizeBytes: number, partLabel: string) => ({
    ...{ number, startBytes, sizeBytes, partLabel, type: GUID },
    partUuid: `00000000-0000-4000-8000-00000000000${number}`,
  });
  const sectorSize = 512; // the journal takes eight of them
  const SIZE = 6 * MIB;
  const esp = part(1, 64 * KIB, 64 * KIB, 'esp');
  const root = part(2, MIB, 256 * KIB, 'rootfs');
  const oldPersistent = part(3, 1280 * KIB, 256 * KIB, 'edge_persistent');
  // a part of it lies where it was
  const persistent = part(3, 1408 * KIB, 1024 * KIB, 'edge_persistent');
  const reserved = part(9, 4 * MIB, 1536 * KIB, 'reserved');
  const partitions = [esp, root, persistent, part(4, 3 * MIB, 64 * KIB, 'hashmap_a'), reserved];
  const rootContent = randomBytes(root.sizeBytes);
  const state = randomBytes(oldPersistent.sizeBytes);

  async function record(): Promise<Recorded> {
    const before = Buffer.alloc(SIZE);
    const layout = { diskGuid: GUID, sectorBytes: sectorSize, sizeBytes: SIZE };
    for (const { offset, bytes } of encodeGpt({ ...layout, partitions: [esp, root, oldPersistent] }))
      bytes.copy(before, offset);
    rootContent.copy(before, root.startBytes);
    state.copy(before, oldPersistent.startBytes);
    using loop = new LoopWith(before);
    await using device = await BlockDevice.open(loop.device);
    const operations = await recordBlockDevices(
      () => 0,
      () =>
        moveToLayout(
          device,
          { partitions, oldPersistent, persistent, reserved },
          { ...layout, isMoved: false },
          { signal: new AbortController().signal, onProgress: () => {} },
        ),
    );
    const after = await device.readAt(0, SIZE);
    const [oldTable, newTable] = [before, after].map((disk) => tableOf(viewOf(disk, sectorSize)));
    if (!oldTable || !newTable) throw new Error('no table');
    return { before, sectorSize, operations, judge: (disk) => judge(disk, oldTable, newTable) };
  }

  /** What a second run needs: the table says whether it begins or goes on, the journal where the state is. */
  function judge(disk: DiskView, oldTable: Buffer, newTable: Buffer): string {
    const table = tableOf(disk);
    if (!table) return 'no table';
    if (!holds(disk, root.startBytes, rootContent)) return 'the root is lost';
    if (table.equals(oldTable))
      return holds(disk, oldPersistent.startBytes, state) ? 'whole' : 'the state is lost, with the old table';
    if (!table.equals(newTable)) return 'a mixed table';
    const journal = journalIn(disk, reserved);
    if (!journal) return 'nothing says where the state is';
    const { startBytes } = journal.step === 'copied' ? reserved : persistent;
    return holds(disk, startBytes, state) ? 'whole' : `the state is lost, ${journal.step}`;
  }

  test('leaves the system, its state, and a journal that says where the state is', async () => {
    expectAllWhole(await record());
  });

  test('would lose something without the syncs around table and journal', async () => {
    // between the copies of the table, after it, and before the last journal
    expect(notMissed(await record(), [[2], [3], [4]])).toEqual([]);
  });
});

describe('while state and root go into encrypted volumes, a power cut at any moment', {
  timeout: 300_000,
}, () => {
  const NAMES = { state: `knd-cut-state-${process.pid}`, root: `knd-cut-root-${process.pid}` };
  const sectorSize = 4096; // the volumes have headers of 16 MiB
  const VOLUME = LUKS_HEADER_BYTES + MIB;
  const reserved = { startBytes: 0, sizeBytes: 2 * MIB };
  const stateStart = reserved.sizeBytes;
  const rootStart = stateStart + VOLUME;
  const state = randomBytes(256 * KIB);
  const root = fileSystem(256 * KIB);
  const keys = { disk: '/dev/null', recovery: '/dev/null', keyId: 'k', pcrs: '15' };

  async function record(): Promise<Recorded> {
    const before = randomBytes(rootStart + VOLUME);
    state.copy(before, 0);
    root.copy(before, rootStart);
    using loop = new LoopWith(before);
    {
      await using device = await BlockDevice.open(loop.device);
      const journal = {
        step: 'copied' as const,
        bytes: state.length,
        sha256: sha256(state),
        usedBytes: state.length,
      };
      await writeJournal(device, reserved, journal);
      (await device.readAt(0, reserved.sizeBytes)).copy(before);
    }
    const starts = new Map([
      [loop.partition(0, reserved.sizeBytes), 0],
      [loop.partition(stateStart, VOLUME), stateStart],
      [loop.partition(rootStart, VOLUME), rootStart],
      [`/dev/mapper/${NAMES.state}`, stateStart + LUKS_HEADER_BYTES],
      [`/dev/mapper/${NAMES.root}`, rootStart + LUKS_HEADER_BYTES],
    ]);
    const [copies = '', stateDevice = '', rootDevice = ''] = starts.keys();
    const startOf = (path: string) => {
      const start = starts.get(path);
      if (start === undefined) throw new Error(`${path} is no part of the disk`);
      return start;
    };
    const operations = await recordBlockDevices(startOf, () => encrypt(copies, stateDevice, rootDevice));
    return { before, sectorSize, operations, judge };
  }

  async function encrypt(copies: string, stateDevice: string, rootDevice: string): Promise<void> {
    await using resources = new Resources();
    const nothing = { stdout: '', stderr: '', exitCode: 0, durationMs: 0 };
    // the file system is sound: e2fsck would change nothing that counts
    const run: Run = async (program, args, options) =>
      program === 'e2fsck' ? nothing : withoutCipher(program, args, options);
    const context = {
      ...{ run, resources, signal: new AbortController().signal },
      ...{ emit: () => {}, log: () => {} },
    } as unknown as ActionContext;
    await encryptState(context, copies, { device: stateDevice, name: NAMES.state }, keys);
    await encryptRoot(context, copies, { device: rootDevice, name: NAMES.root }, keys, undefined);
    await clearCopies(context, copies);
  }

  function judge(disk: DiskView): string {
    const journal = journalIn(disk, reserved);
    if (!journal) return 'nothing says how far it was';
    const { step } = journal;
    const isHeaderThere = (start: number) => holds(disk, start, Buffer.alloc(HEADER_WRITTEN));
    const isStateIn = isHeaderThere(stateStart) && holds(disk, stateStart + LUKS_HEADER_BYTES, state);
    const isRootIn = isHeaderThere(rootStart) && holds(disk, rootStart + LUKS_HEADER_BYTES, root);
    const isStateSafe = step === 'copied' ? holds(disk, 0, state) : isStateIn;
    if (!isStateSafe) return `the state is lost, ${step}`;
    const isRootSafe =
      step === 'copied' || step === 'restored'
        ? holds(disk, rootStart, root)
        : step === 'root copied'
          ? holds(disk, 0, root)
          : isRootIn;
    if (!isRootSafe) return `the root is lost, ${step}`;
    const isCleared = holds(disk, 0, Buffer.alloc(Math.max(state.length, root.length)));
    return step === 'done' && !isCleared ? 'done, and a copy can still be read' : 'whole';
  }

  test('leaves state and root where the journal says, and at the end no copy that can be read', async () => {
    expectAllWhole(await record());
  });

  test('would lose something without the syncs around each journal', async () => {
    const recorded = await record();
    expect(recorded.operations.filter(({ kind }) => kind === 'sync')).toHaveLength(13);
    expect(notMissed(recorded, [[0, 1], [2], [3, 4], [5], [7, 8], [9], [10, 11]])).toEqual([]);
  });
});

/** Only what says how large an ext4 file system is; the rest is noise. */
function fileSystem(bytes: number): Buffer {
  const image = randomBytes(bytes);
  image.writeUInt32LE(bytes / 4096, 1024 + 4);
  image.writeUInt32LE(2, 1024 + 24);
  image.writeUInt16LE(0xef53, 1024 + 56);
  image.writeUInt32LE(0, 1024 + 336);
  return image;
}
