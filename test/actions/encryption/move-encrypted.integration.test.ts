import { createHash, randomBytes } from 'node:crypto';
import { readFile, readlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import type { ActionContext } from '../../../actions/contract/action.ts';
import { BlockDevice } from '../../../actions/disks/block-device.ts';
import { clearCopies, encryptRoot, encryptState } from '../../../actions/encryption/move-encrypted.ts';
import { writeJournal } from '../../../actions/moving/move-journal.ts';
import { Resources } from '../../../actions/resources/resources.ts';
import { ext4Disk, loopDisk, withMounted } from '../loop-disk.ts';
import { withPowerCutAt } from '../power-cut.ts';
import { withoutCipher } from './without-cipher.ts';

const MIB = 2 ** 20;
const keys = { disk: '/dev/null', recovery: '/dev/null', keyId: 'k', pcrs: '15' };
const names = { state: `knd-state-${process.pid}`, root: `knd-root-${process.pid}` };

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

async function hashOf(devicePath: string, bytes: number): Promise<string> {
  await using device = await BlockDevice.open(devicePath);
  return sha256(await device.readAt(0, bytes));
}

/** The disk as it is when its table has been changed: the state in "reserved", the root where the image put it. */
async function halfWay() {
  const reserved = await loopDisk(12 * MIB);
  const state = await loopDisk(28 * MIB);
  const root = await ext4Disk(8 * MIB);
  const { stdout: grown } = await execa('losetup', [
    '--list',
    '--noheadings',
    '-O',
    'BACK-FILE',
    root.device,
  ]);
  await execa('truncate', ['-s', String(28 * MIB), grown.trim()]);
  await execa('losetup', ['-c', root.device]);
  const content = randomBytes(8 * MIB);
  const file = randomBytes(3 * MIB);
  await withMounted(root.device, (mounted) => writeFile(path.join(mounted, 'file'), file));
  {
    await using device = await BlockDevice.open(reserved.device);
    await device.writeAt(0, content);
    await writeJournal(
      device,
      { startBytes: 0, sizeBytes: device.sizeBytes },
      {
        step: 'copied',
        bytes: content.length,
        sha256: sha256(content),
        usedBytes: content.length,
      },
    );
  }
  const disposeAll = async () => {
    for (const each of [reserved, state, root]) await each[Symbol.asyncDispose]();
  };
  return { reserved, state, root, content, file, [Symbol.asyncDispose]: disposeAll };
}

async function encrypt(
  disks: Awaited<ReturnType<typeof halfWay>>,
  look?: () => Promise<void>,
): Promise<void> {
  await using resources = new Resources();
  const context = {
    run: withoutCipher,
    resources,
    signal: new AbortController().signal,
    emit: () => {},
    log: () => {},
  } as unknown as ActionContext;
  const reserved = disks.reserved.device;
  await encryptState(context, reserved, { device: disks.state.device, name: names.state }, keys);
  await encryptRoot(context, reserved, { device: disks.root.device, name: names.root }, keys, undefined);
  await clearCopies(context, reserved);
  await look?.();
}

describe('moving into encrypted volumes', () => {
  it('stopped at any write, a second run still has state and root, and no readable copy is left', async () => {
    let isThrough = false;
    for (let failAt = 1; !isThrough; failAt++) {
      await using disks = await halfWay();
      isThrough = await withPowerCutAt(failAt, () => encrypt(disks));
      await encrypt(disks, async () => {
        const state = await hashOf(`/dev/mapper/${names.state}`, disks.content.length);
        expect({ failAt, state }).toEqual({ failAt, state: sha256(disks.content) });
        const root = await readlink(`/dev/mapper/${names.root}`);
        const file = await withMounted(root, (mounted) => readFile(path.join(mounted, 'file')));
        expect({ failAt, isWhole: file.equals(disks.file) }).toEqual({ failAt, isWhole: true });
        expect((await execa('e2fsck', ['-fn', root], { reject: false })).exitCode).toBe(0);
      });
      await using copies = await BlockDevice.open(disks.reserved.device);
      expect((await copies.readAt(0, 10 * MIB)).every((byte) => byte === 0)).toBe(true);
    }
  });
});
