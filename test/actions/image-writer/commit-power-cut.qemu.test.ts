import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import { makeBootableImage } from '../../crash-explorer/bootable-image.ts';
import { disksAtSyncs } from '../../crash-explorer/disks-at-syncs.ts';
import { recordWrite } from '../../crash-explorer/record-write.ts';
import { type ImageServer, startImageServer } from './image-server.ts';
import { type ServedFormat, serveImage } from './serve-image.ts';

const MIB = 1024 * 1024;
const DISK = 8 * MIB;
const SECTOR = 512;
const BOOT_TIMEOUT_MS = 240_000;
/** A disk that a power cut has left, and what a machine that starts from it says. */
interface Case {
  name: string;
  sectorSize: number;
  disk: Buffer;
  says: 'new' | 'old' | 'nothing';
}

let folder: string;
let server: ImageServer;
/** Of a raw image; and of others, with what else is different where they are written. */
let cases: Case[];
let otherWays: Case[];
let controls: Case[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-commit-'));
  server = await startImageServer({});
  cases = await cutWrites('raw', SECTOR);
  otherWays = [...(await cutWrites('chunked', SECTOR)), ...(await cutWrites('qcow2', 4096))];
  controls = controlsOf(bootable('new --', SECTOR));
});
afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true });
});

const bootable = (text: string, sectorSize: number) =>
  makeBootableImage(folder, { bytes: DISK, sectorSize, text });

/** Writes an image over a system, and gives the disk as it was before, and as each sync of the way in and of the commit left it. */
async function cutWrites(format: ServedFormat, sectorSize: number): Promise<Case[]> {
  const old = bootable('old --', sectorSize);
  const image = bootable('new --', sectorSize);
  await serveImage(server, folder, image, format);
  const { operations, after } = await recordWrite(folder, old, sectorSize, {
    sources: [`${server.url}/image`],
    chunks: { use: format === 'chunked' ? 'require' : 'never' },
  });
  expect(after.equals(image)).toBe(true);
  const disks = disksAtSyncs(operations, old);
  expect(disks.length).toBeGreaterThanOrEqual(9);
  return disks.map((disk, at) => ({
    name: `${format}, sectors of ${sectorSize} bytes, after sync ${at} of ${disks.length - 1}`,
    sectorSize,
    disk,
    says: at === 0 ? 'old' : at === disks.length - 1 ? 'new' : 'nothing',
  }));
}

/** What firmware makes of a table that is whole but for some of its doors. */
function controlsOf(image: Buffer): Case[] {
  const without = (...sectors: number[]) => {
    const disk = Buffer.from(image);
    for (const sector of sectors) disk.fill(0, sector * SECTOR, (sector + 1) * SECTOR);
    return disk;
  };
  const backup = DISK / SECTOR - 1;
  const control = (name: string, disk: Buffer, says: Case['says']) => ({
    name,
    sectorSize: SECTOR,
    disk,
    says,
  });
  return [
    control('both headers, no protective MBR', without(0), 'nothing'),
    control('the backup header, no protective MBR', without(0, 1), 'nothing'),
    control('the primary header, no protective MBR', without(0, backup), 'nothing'),
    // so it is the protective MBR that the three above lack
    control('the backup header and a protective MBR', without(1), 'new'),
  ];
}

/** The disk as a file; a system that starts from it says its number. */
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
  const all = [...cases, ...controls, ...otherWays];
  await using machine = await bootMachine({
    name: 'UEFI, power cuts at the commit',
    firmware: 'ovmf',
    memoryMb: 256,
    disks: all.map((each, number) => ({
      bus: 'scsi',
      file: fileOf(each, number),
      logicalSectorBytes: each.sectorSize,
      bootIndex: number,
    })),
    nics: [{ model: 'virtio', network: 'silent', bootIndex: all.length }],
  });
  // a line that ends only when no server has answered, a minute later
  await machine.console.waitFor(/Start PXE/, { timeoutMs: BOOT_TIMEOUT_MS, prompt: true });
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
