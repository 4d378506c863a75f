import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
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
/** The journal lies in the first MiB, in two places that take turns. */
const JOURNAL_SLOTS = [256 * 1024, 640 * 1024];
/** Programs that could decompress or convert an image, where the Micro-OS has them. */
const DECODERS = [
  'gzip',
  'gunzip',
  'zcat',
  'bzip2',
  'bunzip2',
  'bzcat',
  'xz',
  'unxz',
  'xzcat',
  'zstd',
  'zstdcat',
];

export const BUSES = ['virtio', 'nvme', 'sata'] as const;
export type Bus = (typeof BUSES)[number];
export const FORMATS = ['raw', 'iso', 'gz', 'bz2', 'xz', 'zst', 'qcow2', 'chunked'] as const;
export type Format = (typeof FORMATS)[number];

/** Of every format with every bus, the part that `npm test` shows: each format once, each bus with several. */
export const isInShortRun = (format: Format, bus: Bus) =>
  FORMATS.indexOf(format) % BUSES.length === BUSES.indexOf(bus);

/** A node with 512 MB and a disk on each bus, in the Micro-OS with a shell; beside it a server with an image in every format. */
export class ImageWriterLab implements AsyncDisposable {
  readonly shell: MicroOsShell;
  readonly #folder: string;
  readonly #server: PiecewiseServer;
  readonly #kernel: KernelSpec;
  readonly #machine: Machine;

  private constructor(folder: string, server: PiecewiseServer, kernel: KernelSpec, machine: Machine) {
    this.#folder = folder;
    this.#server = server;
    this.#kernel = kernel;
    this.#machine = machine;
    this.shell = new MicroOsShell(machine);
  }

  static async start(): Promise<ImageWriterLab> {
    const folder = mkdtempSync(join(tmpdir(), 'kindling-qemu-image-'));
    const server = await PiecewiseServer.start(64 * 1024);
    await addChunked(server, folder, 'disk.chunked', RAW);
    await addChunked(server, folder, 'large.chunked', LARGE);
    for (const format of FORMATS) {
      if (format !== 'chunked') server.files.set(`disk.${format}`, encodeImage(imageOf(format), format));
    }
    const kernel = await microOsKernel({ cmdline: 'kindling.debug' });
    const machine = await bootMachine({
      name: 'image writer on every bus',
      memoryMb: 512,
      disks: BUSES.map((bus) => ({ bus, size: LARGE.length, serial: `${bus.toUpperCase()}1` })),
      nics: [{ model: 'virtio' }],
      kernel,
    });
    const lab = new ImageWriterLab(folder, server, kernel, machine);
    await lab.shell.ready();
    return lab;
  }

  /** Writes the small image, and expects it on the disk bit for bit. Gives the MB of memory that took at most. */
  async expectWritten(format: Format, bus: Bus): Promise<number> {
    const { output, exitCode } = await this.#write(`disk.${format}`, bus);
    expect(output).toMatch(/MiB in .* s, \d+ MB\/s; limited by/);
    expect(exitCode).toBe(0);
    const found = await this.#diskOf(bus);
    // the disk is larger: in the first MiB the table names the new place of its backup
    expect(found.subarray(MIB, RAW.length).equals(imageOf(format).subarray(MIB))).toBe(true);
    expect(found.toString('latin1', 512, 520)).toBe('EFI PART');
    expect(found.toString('latin1', found.length - 512, found.length - 504)).toBe('EFI PART');
    return Number(/took at most (\d+) MB of memory/.exec(output)?.[1]);
  }

  /** From now on a program that decompresses does nothing but leave its name, which `calledDecoders` gives. */
  async replaceDecoders(): Promise<void> {
    const { exitCode } = await this.shell.run(
      `mkdir /tmp/decoders; for name in ${DECODERS.join(' ')}; do printf '#!/bin/sh\\necho $0 >> /tmp/called\\nexit 1\\n' > /tmp/decoders/$name; chmod +x /tmp/decoders/$name; done; export PATH=/tmp/decoders:$PATH`,
    );
    expect(exitCode).toBe(0);
  }

  async calledDecoders(): Promise<string> {
    // By its path: the shell takes its own xz before that of PATH.
    return (await this.shell.run('/tmp/decoders/xz; cat /tmp/called')).output;
  }

  /** Pulls the plug at a seeded point of a write; then nothing boots, and the next start of the Micro-OS goes on with it. */
  async expectGoesOn(bus: Bus): Promise<void> {
    const server = this.#server;
    const cutPoint = testRandom(SEED + BUSES.indexOf(bus));
    const length = server.lengthOf('large.chunked');
    const holdAt = server.served() + length * (0.3 + cutPoint() * 0.6);
    server.fateOf = () => (server.served() >= holdAt ? 'hold' : 'send');
    const running = this.#write('large.chunked', bus).catch(() => undefined);
    await waitFor(() => (server.served() >= holdAt ? true : undefined), {
      name: 'the seeded point',
      timeoutMs: 280_000,
    });
    await waitFor(async () => (this.#hasProgress(await this.#diskOf(bus)) ? true : undefined), {
      name: 'the journal on the disk',
      timeoutMs: 120_000,
    });
    await this.#machine.powerCut();
    await running;
    const cut = await this.#diskOf(bus);
    expect(cut.subarray(0, 1024).every((byte) => byte === 0)).toBe(true);
    expect(cut.subarray(-512).includes('EFI PART')).toBe(false);

    server.fateOf = () => 'send';
    await this.shell.restart(this.#kernel);
    const before = server.served();
    const { output, exitCode } = await this.#write('large.chunked', bus);
    expect(output).toContain('going on where an interrupted write of this image stopped');
    expect(exitCode).toBe(0);
    expect((await this.#diskOf(bus)).equals(LARGE)).toBe(true);
    expect(server.served() - before).toBeLessThan(length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machine[Symbol.asyncDispose]();
    await this.#server.close();
    rmSync(this.#folder, { recursive: true });
  }

  #write(file: string, bus: Bus) {
    const url = `http://10.0.2.2:${this.#server.port}`; // the host, as the machine sees it
    return this.shell.action(
      'image2disk',
      { IMG_URL: `${url}/${file}`, KINDLING_DISK: `serial=${bus.toUpperCase()}1` },
      COMMAND_TIMEOUT_MS,
    );
  }

  async #diskOf(bus: Bus): Promise<Buffer> {
    return Buffer.from((await this.#machine.disks[BUSES.indexOf(bus)]?.read(0, LARGE.length)) ?? '');
  }

  /** Whether the journal on the disk names at least one finished chunk, so that there is something to go on with. */
  #hasProgress(disk: Buffer): boolean {
    const manifest = String(this.#server.files.get('large.chunked.manifest'));
    const { root, size, chunkSize } = decodeManifest(manifest);
    const count = Math.ceil(size / chunkSize);
    return JOURNAL_SLOTS.some((position) => {
      const journal = decodeJournal(disk.subarray(position, position + 4096), root, count);
      return journal?.done.some((byte, i) => byte > (i === 0 ? 1 : 0)) ?? false;
    });
  }
}

async function addChunked(server: PiecewiseServer, folder: string, name: string, raw: Buffer): Promise<void> {
  const file = join(folder, 'raw');
  writeFileSync(file, raw);
  const { manifest } = await indexImage(file, `${file}.zst`, { chunkSize: MIB, level: 1 });
  server.files.set(name, readFileSync(`${file}.zst`));
  server.files.set(`${name}.manifest`, Buffer.from(manifest));
}

/** ISO 9660 in a disk with a partition table, as installers are made. */
function imageOf(format: Format): Buffer {
  const image = Buffer.from(RAW);
  if (format === 'iso') image.write('\x01CD001\x01', 32_768, 'latin1');
  return image;
}
