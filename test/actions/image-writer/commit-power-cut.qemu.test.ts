import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import { makeBootableImage } from '../../crash-explorer/bootable-image.ts';
import { disksAtSyncs } from '../../crash-explorer/disks-at-syncs.ts';
import { recordWrite } from '../../crash-explorer/record-write.ts';
import { startImageServer } from './image-server.ts';

const MIB = 1024 * 1024;
const DISK = 8 * MIB;
const SECTOR = 512;
const BOOT_TIMEOUT_MS = 240_000;
/** A disk that a power cut has left, and what a machine that starts from it says. */
interface Case {
  name: string;
  disk: Buffer;
  says: 'new' | 'old' | 'nothing';
}

let folder: string;
let cases: Case[];
let controls: Case[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-commit-'));
  const old = makeBootableImage(folder, DISK, 'old --');
  const image = makeBootableImage(folder, DISK, 'new --');
  const server = await startImageServer({});
  server.files.set('/image', { bytes: image });
  const { operations, after } = await recordWrite(folder, old, SECTOR, {
    sources: [`${server.url}/image`],
    chunks: { use: 'never' },
  }).finally(() => server.close());
  expect(after.equals(image)).toBe(true);

  const disks = disksAtSyncs(operations, old);
  // what was there before, and what each sync of the way in and of the commit adds
  expect(disks.length).toBeGreaterThanOrEqual(9);
  cases = disks.map((disk, at) => ({
    name: `after sync ${at} of ${disks.length - 1}`,
    disk,
    says: at === 0 ? 'old' : at === disks.length - 1 ? 'new' : 'nothing',
  }));
  controls = controlsOf(image);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What firmware makes of a table that is whole but for some of its doors. */
function controlsOf(image: Buffer): Case[] {
  const without = (...sectors: number[]) => {
    const disk = Buffer.from(image);
    for (const sector of sectors) disk.fill(0, sector * SECTOR, (sector + 1) * SECTOR);
    return disk;
  };
  const backup = DISK / SECTOR - 1;
  return [
    { name: 'both headers, no protective MBR', disk: without(0), says: 'nothing' },
    { name: 'the backup header, no protective MBR', disk: without(0, 1), says: 'nothing' },
    { name: 'the primary header, no protective MBR', disk: without(0, backup), says: 'nothing' },
    // so it is the protective MBR that the three above lack
    { name: 'the backup header and a protective MBR', disk: without(1), says: 'new' },
  ];
}

/** The disk as a file; whoever starts from it says its number. */
function fileOf({ disk }: Case, number: number): string {
  const file = join(folder, `disk-${number}`);
  const numbered = Buffer.from(disk);
  for (const text of ['old --', 'new --']) {
    for (let at = numbered.indexOf(text); at >= 0; at = numbered.indexOf(text, at + 1)) {
      numbered.write(String(number).padStart(2, '0'), at + 4, 'latin1');
    }
  }
  writeFileSync(file, numbered);
  return file;
}

const expected = (all: readonly Case[], firmware: string) =>
  all.flatMap(({ says }, number) =>
    says === 'nothing' ? [] : [`WHOLE ${says} ${String(number).padStart(2, '0')} by ${firmware}`],
  );
/** Of what the machine wrote, what our boot programs did. */
const said = (console: string) => console.match(/WHOLE (old|new) \d\d by \w+|HALF/g) ?? [];

test('UEFI starts the old system or the new one, and goes on to the network from every disk in between', async () => {
  const all = [...cases, ...controls];
  await using machine = await bootMachine({
    name: 'UEFI, power cuts at the commit',
    firmware: 'ovmf',
    memoryMb: 256,
    disks: all.map((each, number) => ({ bus: 'virtio', file: fileOf(each, number), bootIndex: number })),
    nics: [{ model: 'virtio', network: 'silent', bootIndex: all.length }],
  });
  await machine.console.waitFor(/Start PXE|No bootable option/, { timeoutMs: BOOT_TIMEOUT_MS });
  expect(said(machine.console.text)).toEqual(expected(all, 'UEFI'));
});

test('BIOS starts the old system or the new one, and goes on to the next device from every disk in between', async () => {
  const found: string[] = [];
  for (const [number, each] of cases.entries()) {
    await using machine = await bootMachine({
      name: `BIOS, power cut ${each.name}`,
      memoryMb: 64,
      disks: [{ bus: 'virtio', file: fileOf(each, number), bootIndex: 0 }],
      serialFirmware: true,
    });
    await machine.console.waitFor(/No bootable device/, { timeoutMs: BOOT_TIMEOUT_MS });
    found.push(...said(machine.console.text));
  }
  expect(found).toEqual(expected(cases, 'BIOS'));
});
