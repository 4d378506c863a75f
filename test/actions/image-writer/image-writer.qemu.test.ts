import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../../agent/system/wait.ts';
import { bootMachine, type Machine } from '../../../lab/qemu/machine.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { indexImage } from '../../../orchestrator-stub/images/index-image.ts';
import { MicroOsShell } from '../micro-os-shell.ts';
import { encodeImage, makeDiskImage } from './test-image.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(64 * MIB, 5);
/** Under software emulation, on a machine that does other things too. */
const COMMAND_TIMEOUT_MS = 250_000;
const BUSES = ['virtio', 'nvme', 'sata'] as const;

let folder: string;
let server: Server;
let url: string;
let machine: Machine;
let shell: MicroOsShell;
const files = new Map<string, Buffer>();
let served = 0;
/** The server stands still after so many bytes, so that the plug can be pulled in the middle. */
let holdAt = Number.POSITIVE_INFINITY;

/** A node with 512 MB and a disk on each bus, in the Micro-OS with a shell; the host's server is 10.0.2.2. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-qemu-image-'));
  const raw = join(folder, 'disk.raw');
  writeFileSync(raw, RAW);
  const { manifest } = await indexImage(raw, `${raw}.zst`, { chunkSize: MIB, level: 1 });
  files.set('/chunked.zst', readFileSync(`${raw}.zst`));
  files.set('/chunked.zst.manifest', Buffer.from(manifest));
  for (const format of ['zst', 'gz', 'xz', 'bz2', 'qcow2'] as const)
    files.set(`/disk.${format}`, encodeImage(RAW, format));
  server = createServer((request, response) => {
    const bytes = files.get(request.url ?? '');
    if (!bytes) return void response.writeHead(404).end();
    const range = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '');
    const start = range ? Number(range[1]) : 0;
    const end = range?.[2] ? Number(range[2]) + 1 : bytes.length;
    response.writeHead(range ? 206 : 200, {
      'accept-ranges': 'bytes',
      'content-length': end - start,
      ...(range ? { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` } : {}),
    });
    const send = (at: number) => {
      if (at >= end || response.destroyed) return void response.end();
      if (served >= holdAt) return;
      const piece = bytes.subarray(at, Math.min(at + 65_536, end));
      served += piece.length;
      response.write(piece, () => send(at + piece.length));
    };
    send(start);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  url = `http://10.0.2.2:${(server.address() as AddressInfo).port}`;
  machine = await bootMachine({
    name: 'image writer on every bus',
    memoryMb: 512,
    disks: BUSES.map((bus) => ({ bus, size: RAW.length, serial: `${bus.toUpperCase()}1` })),
    nics: [{ model: 'virtio' }],
    kernel: await microOsKernel({ cmdline: 'kindling.debug' }),
  });
  shell = await waitForShell();
});
afterAll(async () => {
  await machine?.[Symbol.asyncDispose]();
  server?.closeAllConnections();
  server?.close();
  rmSync(folder, { recursive: true });
});

async function waitForShell(): Promise<MicroOsShell> {
  await machine.console.waitFor(/KINDLING-STAGE \{"stage":"network"/, { timeoutMs: 180_000 });
  const ready = new MicroOsShell(machine);
  await ready.run('true', COMMAND_TIMEOUT_MS);
  return ready;
}

const write = (file: string, bus: (typeof BUSES)[number]) =>
  shell.action(
    'image2disk',
    { IMG_URL: `${url}/${file}`, KINDLING_DISK: `serial=${bus.toUpperCase()}1` },
    COMMAND_TIMEOUT_MS,
  );

async function diskOf(bus: (typeof BUSES)[number]): Promise<Buffer> {
  return Buffer.from((await machine.disks[BUSES.indexOf(bus)]?.read(0, RAW.length)) ?? '');
}

test.each([
  ['disk.zst', 'nvme'],
  ['disk.gz', 'sata'],
  ['disk.xz', 'nvme'],
  ['disk.bz2', 'sata'],
  ['disk.qcow2', 'virtio'],
] as const)('%s is written to a %s disk bit for bit, with 512 MB of RAM', async (file, bus) => {
  const { output, exitCode } = await write(file, bus);
  expect(output).toMatch(/MiB in .* s, \d+ MB\/s; limited by/);
  expect(exitCode).toBe(0);
  expect((await diskOf(bus)).equals(RAW)).toBe(true);
});

test('a power cut in the middle leaves nothing bootable, and the next boot goes on', {
  timeout: 600_000,
}, async () => {
  holdAt = served + (files.get('/chunked.zst')?.length ?? 0) * 0.7;
  const running = write('chunked.zst', 'virtio').catch(() => undefined);
  await waitFor(() => (served >= holdAt ? true : undefined), {
    name: 'the middle of the image',
    timeoutMs: 200_000,
  });
  // the journal is written every two seconds; what came before the hold is on the disk by then
  await delay(8000);
  await machine.powerCut();
  await running;
  const cut = await diskOf('virtio');
  expect(cut.subarray(0, 512).every((byte) => byte === 0)).toBe(true);
  expect(cut.subarray(-512).includes('EFI PART')).toBe(false);

  holdAt = Number.POSITIVE_INFINITY;
  await machine.powerOn();
  shell = await waitForShell();
  const before = served;
  const { output, exitCode } = await write('chunked.zst', 'virtio');
  expect(output).toContain('going on where an interrupted write of this image stopped');
  expect(exitCode).toBe(0);
  expect((await diskOf('virtio')).equals(RAW)).toBe(true);
  expect(served - before).toBeLessThan((files.get('/chunked.zst')?.length ?? 0) * 0.7);
});
