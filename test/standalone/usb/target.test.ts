import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import {
  deviceFacts,
  inspectTarget,
  refuseUnsafeTarget,
  type StickTarget,
} from '../../../standalone/usb/target.ts';

const root = mkdtempSync(join(tmpdir(), 'kindling-target-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const STICK: StickTarget = {
  kind: 'device',
  path: '/dev/sdb',
  sizeBytes: 8e9,
  isRemovable: true,
  isWholeDisk: true,
  mounts: [],
};

describe('a stick is not written to', () => {
  test.each<[string, Partial<Extract<StickTarget, { kind: 'device' }>>, RegExp]>([
    ['an internal disk', { isRemovable: false }, /not removable/],
    ['a partition', { isWholeDisk: false }, /whole device/],
    ['a mounted device', { mounts: ['/media/x'] }, /in use at \/media\/x/],
    ['a device that is too small', { sizeBytes: 1e6 }, /has 1 MB; the stick needs 2000 MB/],
  ])('%s', (_, change, message) => {
    const target = { ...STICK, ...change } as StickTarget;
    expect(() => refuseUnsafeTarget(target, 2e9)).toThrow(
      expect.objectContaining({
        code: 'KND_STICK_TARGET_REFUSED',
        exitCode: 4,
        message: expect.stringMatching(message),
      }),
    );
  });
});

test('a stick and an image file are fine', () => {
  expect(() => refuseUnsafeTarget(STICK, 2e9)).not.toThrow();
  expect(() => refuseUnsafeTarget({ kind: 'image-file', path: 'x' }, 2e9)).not.toThrow();
});

test('a USB disk that says it is not removable counts as removable; partitions’ mounts and swap count', async () => {
  const device = join(root, 'sys/devices/pci0/usb1/1-1/block/sdb');
  mkdirSync(device, { recursive: true });
  mkdirSync(join(root, 'sys/class/block'), { recursive: true });
  mkdirSync(join(root, 'proc/self'), { recursive: true });
  symlinkSync(device, join(root, 'sys/class/block/sdb'));
  writeFileSync(join(device, 'size'), '2048\n');
  writeFileSync(join(device, 'removable'), '0\n');
  writeFileSync(
    join(root, 'proc/self/mounts'),
    '/dev/sdb1 /media/a vfat rw 0 0\n/dev/sdbc /x ext4 rw 0 0\n/dev/sda1 / ext4 rw 0 0\n',
  );
  writeFileSync(join(root, 'proc/swaps'), 'Filename Type Size\n/dev/sdb2 partition 1\n');
  const roots = { sys: join(root, 'sys'), proc: join(root, 'proc') };
  expect(await deviceFacts('/dev/sdb', 'sdb', roots)).toEqual({
    kind: 'device',
    path: '/dev/sdb',
    sizeBytes: 1024 * 1024,
    isRemovable: true,
    isWholeDisk: true,
    mounts: ['/media/a', '[SWAP]'],
  });
});

test('what does not exist, or is a file, is an image file', async () => {
  expect(await inspectTarget(join(root, 'new.img'))).toMatchObject({ kind: 'image-file' });
  expect(await inspectTarget(join(root, 'proc/swaps'))).toMatchObject({ kind: 'image-file' });
});

test('a mistyped device, a folder, and a file the stick is made of are refused', async () => {
  const refused = (message: RegExp) =>
    expect.objectContaining({ code: 'KND_STICK_TARGET_REFUSED', message: expect.stringMatching(message) });
  const missing = await inspectTarget('/dev/no-such-stick');
  expect(() => refuseUnsafeTarget(missing, 1)).toThrow(refused(/does not exist/));
  const directory = await inspectTarget(root);
  expect(() => refuseUnsafeTarget(directory, 1)).toThrow(refused(/neither a device nor a file/));
  const image: StickTarget = { kind: 'image-file', path: '/images/../images/debian.raw' };
  expect(() => refuseUnsafeTarget(image, 1, ['/images/debian.raw'])).toThrow(refused(/part of what/));
});
