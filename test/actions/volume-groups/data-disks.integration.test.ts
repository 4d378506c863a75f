import { closeSync, openSync, readSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { useOtherDisks } from '../../../actions/volume-groups/data-disks.ts';
import { machine } from '../../../agent/machine.ts';
import type { ActionEvent } from '../../../protocol/action-events.ts';
import type { Disk } from '../../../protocol/inventory.ts';
import type { Run } from '../../../system/run.ts';
import { loopDisk } from '../loop-disk.ts';

async function asDisk(path: string): Promise<Disk> {
  const found = (await machine.listDisks()).find((disk) => disk.path === path);
  if (!found) throw new Error(`the inventory does not list ${path}`);
  return { ...found, kind: 'disk', serial: 'DATA1' };
}

/** Whether there is nothing on the first MiB, past no cache: written is what write(2) was called for. */
function isUntouched(path: string): boolean {
  const fd = openSync(path, 'r');
  const start = Buffer.alloc(1 << 20);
  readSync(fd, start, 0, start.length, 0);
  closeSync(fd);
  return start.every((byte) => byte === 0);
}

/** This host has no LVM and shows no partitions: what would be done with them is not part of this test. */
const stopAfterTable: Run = async (program) => {
  if (program === 'lvm') return { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };
  throw new Error(`${program} comes after the table`);
};

describe('taking the other disks for a volume group', () => {
  it('says which, before the first byte is written', async () => {
    await using loop = await loopDisk(16 << 20);
    const disk = await asDisk(loop.device);
    const seen: { event: ActionEvent; untouched: boolean }[] = [];
    const taken = useOtherDisks(
      {
        run: stopAfterTable,
        signal: new AbortController().signal,
        log: () => {},
        emit: (event) => seen.push({ event, untouched: isUntouched(loop.device) }),
        machine: { listDisks: async () => [disk], secureBoot: async () => 'off' },
      },
      [disk],
    );
    await expect(taken).rejects.toThrow('comes after the table');
    expect(isUntouched(loop.device)).toBe(false);
    expect(seen).toMatchObject([
      {
        untouched: true,
        event: { type: 'plan', plan: { destroys: [{ disk: { path: loop.device, serial: 'DATA1' } }] } },
      },
    ]);
  });

  it('leaves alone, and names, what is not empty', async () => {
    await using loop = await loopDisk(16 << 20);
    await using full = await loopDisk(16 << 20);
    const disk = await asDisk(loop.device);
    const used: Disk = { ...(await asDisk(full.device)), partitionTable: 'gpt', serial: 'USED' };
    const events: ActionEvent[] = [];
    const taken = useOtherDisks(
      {
        run: stopAfterTable,
        signal: new AbortController().signal,
        log: () => {},
        emit: (event) => events.push(event),
        machine: { listDisks: async () => [disk, used], secureBoot: async () => 'off' },
      },
      [disk, used],
    );
    await expect(taken).rejects.toThrow('comes after the table');
    expect(isUntouched(full.device)).toBe(true);
    expect(events).toMatchObject([
      { plan: { leavesAlone: [{ disk: { serial: 'USED' }, reason: 'it is not empty' }] } },
    ]);
  });

  it('stops at a disk that is another one than the plan says', async () => {
    await using loop = await loopDisk(16 << 20);
    const disk = await asDisk(loop.device);
    const taken = useOtherDisks(
      {
        run: stopAfterTable,
        signal: new AbortController().signal,
        log: () => {},
        emit: () => {},
        machine: { listDisks: async () => [{ ...disk, serial: 'OTHER' }], secureBoot: async () => 'off' },
      },
      [disk],
    );
    await expect(taken).rejects.toMatchObject({ code: 'KND_PLAN_STALE' });
    expect(isUntouched(loop.device)).toBe(true);
  });
});
