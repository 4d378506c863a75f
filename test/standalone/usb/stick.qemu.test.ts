import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeBootOnce, encodeBootOnce } from '../../../agent/standalone/boot-once.ts';
import { DiskFile } from '../../../lab/qemu/disk-file.ts';
import { bootMachine, type Machine } from '../../../lab/qemu/machine.ts';
import type { DiskSpec, SmbiosSpec } from '../../../lab/qemu/machine-spec.ts';
import { GAVE_UP } from '../../../lab/qemu/micro-os.ts';
import { insertImage, plugScsiDisk, plugStick, unplug } from './hot-plug.ts';
import { snakeoilKeys } from './snakeoil.ts';
import { makeTargetImage, TARGET_ROOT } from './target-image.ts';
import { buildTestStick, hashOfDisk, installedFile, stickFile, stickPartition } from './test-stick.ts';

const MIB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), 'kindling-stick-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One stick, carried from machine to machine. */
let stick = '';

const CONFIG = `version: 1.0
operatingSystem:
  hostname: edge-default
  users: [{username: edge, password: c2VjcmV0LW9mLXRoZS1ub2Rl}]
install: {countdownSeconds: 2, after: poweroff}
image: {file: target.raw.zst, artifacts: artifacts}
disk: {serial: TARGET}
nodes:
  - match: {serial: NODE-A}
    operatingSystem:
      hostname: node-a
      network: [{address: 192.0.2.10/24, gateway: 192.0.2.1}]
    install: {confirm: none, after: reboot}
`;

beforeAll(async () => {
  const secureBoot = await snakeoilKeys(folder);
  await makeTargetImage(folder, secureBoot);
  mkdirSync(join(folder, 'artifacts'));
  writeFileSync(join(folder, 'artifacts/install.sh'), 'echo called\n');
  stick = await buildTestStick(folder, CONFIG, secureBoot);
});

const WAIT = { timeoutMs: 480_000, failOn: GAVE_UP };
const FATAL = /KINDLING-FATAL \{.*"uptime":[\d.]+\}/;
const SEED = '/var/lib/cloud/seed/nocloud';
const STICK: DiskSpec = { bus: 'usb', removable: true, bootIndex: 1 };

function smbios(serial: string, digit: string): SmbiosSpec {
  return { serial, uuid: `${digit.repeat(8)}-2222-3333-4444-555555555555` };
}

function emptyDisk(name: string): DiskFile {
  const file = join(folder, name);
  writeFileSync(file, '');
  truncateSync(file, 256 * MIB);
  return new DiskFile(file);
}

/** Neither boot code nor a table: no firmware starts from it. */
async function cannotStart(disk: DiskFile): Promise<boolean> {
  return (await disk.read(0, 1024)).every((byte) => byte === 0);
}

/** Lets a machine that stopped with an error try again, and waits for what comes of it. */
async function tryAgain(machine: Machine, pattern: RegExp): Promise<string> {
  const after = machine.console.mark();
  machine.console.type('r');
  return (await machine.console.waitFor(pattern, { timeoutMs: 480_000, after })).line;
}

describe('one stick', () => {
  test('gives each fault its code, leaves nothing that starts, and goes on where it was stopped', async () => {
    // A stick with one bit of the image flipped, and a disk that is too small.
    const damaged = new DiskFile(join(folder, 'damaged.img'));
    cpSync(stick, damaged.path);
    const { startBytes } = await stickPartition(damaged, 'payload');
    const image = startBytes + (await imageOffset(damaged, startBytes));
    const byte = await damaged.read(image + 3_000_000, 1);
    await damaged.write(image + 3_000_000, Buffer.from([(byte[0] ?? 0) ^ 1]));
    const disk = emptyDisk('node-a.img');
    const identity = smbios('NODE-A', 'a');
    {
      await using machine = await bootMachine({
        memoryMb: 768,
        smbios: identity,
        disks: [
          { ...STICK, file: damaged.path },
          { bus: 'scsi', size: '32M', serial: 'TARGET' },
        ],
      });
      const small = machine.disks[1] as DiskFile;
      const tooSmall = await machine.console.waitFor(FATAL, { timeoutMs: 480_000 });
      expect(tooSmall.line).toContain('KND_IMAGE_TOO_LARGE');
      expect(await cannotStart(small)).toBe(true);
      const status = JSON.parse(await stickFile(damaged, `status/${identity.uuid}.json`));
      expect(status).toMatchObject({ state: 'failed', error: { code: 'KND_IMAGE_TOO_LARGE' } });
      expect(await stickFile(damaged, `logs/${identity.uuid}.log`)).toContain('KND_IMAGE_TOO_LARGE');

      await unplug(machine, 'disk1');
      await insertImage(machine, 'larger', disk.path, { writeBytesPerSecond: 3 * MIB });
      await plugScsiDisk(machine, 'disk2', 'larger', 'TARGET');
      expect(await tryAgain(machine, FATAL)).toMatch(/KND_IMAGE_(HASH|CORRUPT)/);
      expect(await cannotStart(disk)).toBe(true);

      await unplug(machine, 'disk0');
      await insertImage(machine, 'good', stick);
      await plugStick(machine, 'stick1', 'good');
      await tryAgain(machine, /image2disk: writing the image \d+ %/);
      const after = machine.console.mark();
      await unplug(machine, 'stick1');
      const lost = await machine.console.waitFor(FATAL, { timeoutMs: 240_000, after });
      expect(lost.line).toContain('KND_STICK_LOST');
      expect(await cannotStart(disk)).toBe(true);

      await plugStick(machine, 'stick2', 'good');
      await tryAgain(machine, /image2disk: writing the image [4-8]0 %/);
      await machine.powerCut();
      expect(await cannotStart(disk)).toBe(true);
    }
    await using machine = await bootMachine({
      memoryMb: 768,
      smbios: identity,
      disks: [
        { ...STICK, file: stick },
        { bus: 'scsi', file: disk.path, serial: 'TARGET', bootIndex: 2 },
      ],
    });
    await machine.console.waitFor(/going on where an interrupted write of this image stopped/, WAIT);
    await machine.console.waitFor(/KINDLING-INSTALLED .*"disk":"TARGET"/, WAIT);
    await machine.console.waitFor(/^TARGET-UP$/, WAIT);
    await machine.waitForPowerOff();
    expect(await installedFile(disk, TARGET_ROOT, `${SEED}/user-data`)).toContain('hostname: node-a');
    expect(await installedFile(disk, TARGET_ROOT, `${SEED}/network-config`)).toContain('192.0.2.10/24');
  }, 900_000);

  // On NVMe under UEFI, after a key, with the other disks erased: debian-stick.qemu.test.ts
  test('installs a machine that nothing names with the default: SATA under BIOS, after a countdown; with the stick still in it then starts the disk', async () => {
    const other = join(folder, 'data.img');
    writeFileSync(other, randomBytes(4 * MIB));
    const before = await hashOfDisk(other);
    const loader = await bootOnceCopies(new DiskFile(stick));
    expect(loader).toHaveLength(2);
    // A command left over from another machine is no obstacle.
    const leftOver = encodeBootOnce('disk guid=11111111-2222-3333-4444-555555555555');
    for (const offset of loader) await new DiskFile(stick).write(offset, leftOver);
    await using machine = await bootMachine({
      memoryMb: 768,
      smbios: smbios('UNKNOWN', 'd'),
      disks: [
        { ...STICK, file: stick },
        { bus: 'sata', size: '256M', serial: 'TARGET', bootIndex: 2 },
        { bus: 'sata', file: other, serial: 'DATA' },
      ],
    });
    await machine.console.waitFor(/starting in 2 s; switch the machine off to stop it/, WAIT);
    await machine.console.waitFor(/KINDLING-INSTALLED .*"disk":"TARGET"/, WAIT);
    await machine.waitForPowerOff();
    const medium = machine.disks[0] as DiskFile;
    const target = machine.disks[1] as DiskFile;
    expect(await hashOfDisk(other)).toBe(before);
    for (const offset of loader) expect(decodeBootOnce(await medium.read(offset, 512))).toBeUndefined();
    const userData = await installedFile(target, TARGET_ROOT, `${SEED}/user-data`);
    expect(userData).toContain('hostname: edge-default');
    expect(userData).toContain('hashed_passwd: $6$');
    expect(await installedFile(target, TARGET_ROOT, '/opt/install.sh')).toBe('echo called');

    await machine.powerOn(); // the BIOS starts the stick again, and is sent on
    await machine.console.waitFor(/KINDLING-ALREADY-INSTALLED/, WAIT);
    await machine.console.waitFor(/^TARGET-UP$/, WAIT);
    await machine.waitForPowerOff();
    // What the stick knows of the machine it was in before is still there.
    for (const digit of ['a', 'd']) {
      const status = JSON.parse(await stickFile(medium, `status/${smbios('', digit).uuid}.json`));
      expect(status).toMatchObject({ state: 'installed' });
    }
    const bytes = await medium.read(0, await medium.size());
    for (const secret of ['c2VjcmV0LW9mLXRoZS1ub2Rl', 'secret-of-the-node']) {
      expect(bytes.includes(secret)).toBe(false);
    }
  }, 900_000);
});

/** Where the stick's loader keeps its boot-once command, on the stick. */
async function bootOnceCopies(medium: DiskFile): Promise<number[]> {
  const { startBytes, sizeBytes } = await stickPartition(medium, 'boot');
  const bytes = await medium.read(startBytes, sizeBytes);
  const offsets: number[] = [];
  for (let at = 0; at < bytes.length; at += 512) {
    const isVector = bytes.readUInt32LE(at) === 0x5a2d2fa5 && bytes.readUInt32LE(at + 508) === 0xdd28bf64;
    if (isVector) offsets.push(startBytes + at);
  }
  return offsets;
}

/** Where the image lies in the payload, as the manifest says. */
async function imageOffset(medium: DiskFile, payloadStart: number): Promise<number> {
  const head = await medium.read(payloadStart, MIB);
  const length = head.readUInt32LE(12);
  const { image, files } = JSON.parse(head.toString('utf8', 80, 80 + length)) as {
    image: string;
    files: { name: string; offset: number }[];
  };
  return files.find(({ name }) => name === image)?.offset ?? 0;
}
