import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recallTarget, rememberTarget } from '../../../actions/disks/target-memory.ts';
import { disk as diskFixture } from './disk-fixture.ts';

let folder: string;
let memory: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-memory-'));
  memory = path.join(folder, 'below/target-disk.json');
});
afterEach(() => rm(folder, { recursive: true }));

const written = diskFixture({ name: 'sda', serial: 'WRITTEN' });
const other = diskFixture({ name: 'sdb', serial: 'OTHER' });

describe('the disk an image was written to', () => {
  it('is found again under whatever name it has now', async () => {
    expect(await recallTarget([written, other], memory)).toBeUndefined();
    await rememberTarget(written, memory);
    const renamed = { ...written, name: 'sdc', path: '/dev/sdc' };
    expect(await recallTarget([other, renamed], memory)).toBe(renamed);
  });

  it('that went away is an error, and no other disk takes its place', async () => {
    await rememberTarget(written, memory);
    await expect(recallTarget([other], memory)).rejects.toMatchObject({
      code: 'KND_DISK_NOT_FOUND',
      message: expect.stringContaining('serial WRITTEN'),
    });
  });

  it('is told by its name from one that carries the same serial number', async () => {
    const twin = { ...written, name: 'sdb', path: '/dev/sdb' };
    await rememberTarget(twin, memory);
    expect(await recallTarget([written, twin], memory)).toBe(twin);
    await expect(recallTarget([written, { ...twin, path: '/dev/sdz' }], memory)).rejects.toMatchObject({
      code: 'KND_DISK_NOT_FOUND',
    });
  });
});
