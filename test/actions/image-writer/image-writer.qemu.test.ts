import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeJournal } from '../../../actions/image-writer/chunks/journal.ts';
import { decodeManifest } from '../../../formats/image-manifest.ts';
import { indexImage } from '../../../images/index-image.ts';
import { bootMachine, type Machine } from '../../../lab/qemu/machine.ts';
import type { KernelSpec } from '../../../lab/qemu/machine-spec.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { waitFor } from '../../../system/wait.ts';
import { testRandom } from '../../seeds/seeds.ts';
import { MicroOsShell } from '../micro-os-shell.ts';
import { PiecewiseServer } from './piecewise-server.ts';
import { encodeImage, makeDiskImage } from './test-image.ts';

const MIB = 1024 * 1024;
const SEED = 20261116;
/** Small for the formats, which are many; larger where the plug is pulled in the middle. */
const RAW = makeDiskImage(8 * MIB, 5);
const LARGE = makeDiskImage(48 * MIB, 6);
/** Under software emulation, on a machine that does other things too. */
const COMMAND_TIMEOUT_MS = 280_000;
const BUSES = ['virtio', 'nvme', 'sata'] as const;
type Bus = (typeof BUSES)[number];
const FORMATS = ['raw', 'iso', 'gz', 'bz2', 'xz', 'zst', 'qcow2', 'chunked'] as const;
/** The journal lies in the first MiB, in two places that take turns. */
const JOURNAL_SLOTS = [256 * 1024, 640 * 1024];

let folder: string;
let server: PiecewiseServer;
let url: string;
let kernel: KernelSpec;
let machine: Machine;
let shell: MicroOsShell;

/** A node with 512 MB and a disk on each bus, in the Micro-OS with a shell; the host's server is 10.0.2.2. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-qemu-image-'));
  server = await PiecewiseServer.start(64 * 1024);
  await addChunked('disk.chunked', RAW);
  await addChunked('large.chunked', LARGE);
  for (const format of FORMATS) {
    if (format !== 'chunked') server.files.set(`disk.${format}`, encodeImage(imageOf(format), format));
  }
  url = `http://10.0.2.2:${server.port}`;
  kernel = await microOsKernel({ cmdline: 'kindling.debug' });
  machine = await bootMachine({
    name: 'image writer on every bus',
    memoryMb: 512,
    disks: BUSES.map((bus) => ({ bus, size: LARGE.length, serial: `${bus.toUpperCase()}1` })),
    nics: [{ model: 'virtio' }],
    kernel,
  });
  shell = new MicroOsShell(machine);
  await shell.ready();
});
afterAll(async () => {
  await machine?.[Symbol.asyncDispose]();
  await server?.close();
  rmSync(folder, { recursive: true });
});

async function addChunked(name: string, raw: Buffer): Promise<void> {
  const file = join(folder, 'raw');
  writeFileSync(file, raw);
  const { manifest } = await indexImage(file, `${file}.zst`, { chunkSize: MIB, level: 1 });
  server.files.set(name, readFileSync(`${file}.zst`));
  server.files.set(`${name}.manifest`, Buffer.from(manifest));
}

/** ISO 9660 in a disk with a partition table, as installers are made. */
function imageOf(format: (typeof FORMATS)[number]): Buffer {
  const image = Buffer.from(RAW);
  if (format === 'iso') image.write('\x01CD001\x01', 32_768, 'latin1');
  return image;
}

const write = (file: string, bus: Bus) =>
  shell.action(
    'image2disk',
    { IMG_URL: `${url}/${file}`, KINDLING_DISK: `serial=${bus.toUpperCase()}1` },
    COMMAND_TIMEOUT_MS,
  );

async function diskOf(bus: Bus): Promise<Buffer> {
  return Buffer.from((await machine.disks[BUSES.indexOf(bus)]?.read(0, LARGE.length)) ?? '');
}

/** MB that each writing process needed at most. */
const peaks = new Map<string, number>();

describe.each(FORMATS)('a %s image', (format) => {
  test.each(BUSES)('is written to a %s disk bit for bit', async (bus) => {
    const { output, exitCode } = await write(`disk.${format}`, bus);
    expect(output).toMatch(/MiB in .* s, \d+ MB\/s; limited by/);
    // everything is decompressed by the agent itself, nothing by a program
    expect(output).not.toContain('is decompressed by');
    expect(exitCode).toBe(0);
    const found = await diskOf(bus);
    // the disk is larger: in the first MiB the table names the new place of its backup
    expect(found.subarray(MIB, RAW.length).equals(imageOf(format).subarray(MIB))).toBe(true);
    expect(found.toString('latin1', 512, 520)).toBe('EFI PART');
    expect(found.toString('latin1', found.length - 512, found.length - 504)).toBe('EFI PART');
    peaks.set(`${format} on ${bus}`, Number(/took at most (\d+) MB of memory/.exec(output)?.[1]));
  });
});

test('everything together, the waiting agent and the one that writes, stays below 300 MB', async () => {
  expect(peaks.size).toBe(FORMATS.length * BUSES.length);
  // what the others have for themselves; the program's own pages are shared with the one that wrote, and counted there
  const { output } = await shell.run(
    "grep -h RssAnon /proc/[0-9]*/status | awk '{ sum += $2 } END { print sum }'",
  );
  const others = Number(output) / 1024;
  expect(others).toBeGreaterThan(0);
  expect(others + Math.max(...peaks.values())).toBeLessThan(300);
});

/** Whether the journal on the disk names at least one finished chunk, so that there is something to go on with. */
function hasProgress(disk: Buffer): boolean {
  const { root, size, chunkSize } = decodeManifest(String(server.files.get('large.chunked.manifest')));
  const count = Math.ceil(size / chunkSize);
  return JOURNAL_SLOTS.some((position) => {
    const journal = decodeJournal(disk.subarray(position, position + 4096), root, count);
    return journal?.done.some((byte, i) => byte > (i === 0 ? 1 : 0)) ?? false;
  });
}

test.each(BUSES)(
  'the plug is pulled at a seeded point of a write to a %s disk: nothing boots, the next boot goes on',
  {
    timeout: 900_000,
  },
  async (bus) => {
    const cutPoint = testRandom(SEED + BUSES.indexOf(bus));
    const length = server.lengthOf('large.chunked');
    const holdAt = server.served() + length * (0.3 + cutPoint() * 0.6);
    server.fateOf = () => (server.served() >= holdAt ? 'hold' : 'send');
    const running = write('large.chunked', bus).catch(() => undefined);
    await waitFor(() => (server.served() >= holdAt ? true : undefined), {
      name: 'the seeded point',
      timeoutMs: 280_000,
    });
    await waitFor(async () => (hasProgress(await diskOf(bus)) ? true : undefined), {
      name: 'the journal on the disk',
      timeoutMs: 120_000,
    });
    await machine.powerCut();
    await running;
    const cut = await diskOf(bus);
    expect(cut.subarray(0, 1024).every((byte) => byte === 0)).toBe(true);
    expect(cut.subarray(-512).includes('EFI PART')).toBe(false);

    server.fateOf = () => 'send';
    await shell.restart(kernel);
    const before = server.served();
    const { output, exitCode } = await write('large.chunked', bus);
    expect(output).toContain('going on where an interrupted write of this image stopped');
    expect(exitCode).toBe(0);
    expect((await diskOf(bus)).equals(LARGE)).toBe(true);
    expect(server.served() - before).toBeLessThan(length);
  },
);
