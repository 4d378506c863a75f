import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WriteImageRequest } from '../../../actions/image-writer/index.ts';
import { type Exploration, explore } from '../../crash-explorer/explore.ts';
import { recordWrite } from '../../crash-explorer/record-write.ts';
import type { Operation } from '../../crash-explorer/trace.ts';
import { rounds, testSeed } from '../../seeds/seeds.ts';
import { type ImageServer, startImageServer } from './image-server.ts';
import { type ServedFormat, serveImage } from './serve-image.ts';
import { makeDiskImage, seededRandom } from './test-image.ts';

const MIB = 1024 * 1024;
const DISK = 4 * MIB;
const SEED = 20261117;
const STATES = rounds(10_000);
/** Where another case is only looked at as well. */
const SLICE = rounds(2000);

let folder: string;
let server: ImageServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-crash-'));
  server = await startImageServer({});
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

interface Case {
  image: Buffer;
  before: Buffer;
  format: ServedFormat;
  sectorSize: number;
  mode?: 'write' | 'delta' | 'repair';
}

async function record({ image, before, format, sectorSize, mode = 'write' }: Case) {
  const request: Omit<WriteImageRequest, 'target'> = {
    sources: [`${server.url}/image`],
    chunks: { mode, journalIntervalMs: 5, use: format === 'chunked' ? 'require' : 'never' },
  };
  await serveImage(server, folder, image, format);
  return recordWrite(folder, before, sectorSize, request);
}

const exploreWrite = (operations: readonly Operation[], before: Buffer, sectorSize: number, count = STATES) =>
  explore(operations, { before, sectorSize, count, seed: testSeed(SEED) });

function expectWholeOrNothing(found: Exploration, states = STATES): void {
  expect(found.half.slice(0, 5), `of ${found.states} disks`).toEqual([]);
  expect(found.states).toBeGreaterThanOrEqual(states);
  expect(found.nothing).toBeGreaterThan(states / 2);
  // the old system at the beginning, the new one at the end
  expect(found.whole).toBeGreaterThanOrEqual(2);
}

/** A disk that is a little out of date: two chunks of it, and the end of its last one. */
function outdated(image: Buffer): Buffer {
  const disk = Buffer.from(image);
  for (const at of [MIB + 5000, 2 * MIB + 70_000, disk.length - 440_000]) disk.fill(0x5a, at, at + 400_000);
  return disk;
}

describe.each([512, 4096])('a power cut at any moment, on a disk with sectors of %d bytes,', (sectorSize) => {
  const old = makeDiskImage(DISK, 99, sectorSize);
  const image = makeDiskImage(DISK, 7, sectorSize);
  /** Its backup table moves. */
  const short = makeDiskImage(DISK - MIB, 8, sectorSize);

  test.each(['raw', 'zst', 'qcow2', 'chunked'] as const)(
    'leaves a whole system or none while a %s image is written',
    { timeout: 300_000 },
    async (format) => {
      const { operations, after } = await record({ image, before: old, format, sectorSize });
      expect(after.equals(image)).toBe(true);
      expectWholeOrNothing(exploreWrite(operations, old, sectorSize));
    },
  );

  test('leaves a whole system or none while the backup table moves', { timeout: 300_000 }, async () => {
    const { operations, after } = await record({ image: short, before: old, format: 'zst', sectorSize });
    expect(after.subarray(MIB, DISK - 2 * MIB).equals(short.subarray(MIB, DISK - 2 * MIB))).toBe(true);
    expectWholeOrNothing(exploreWrite(operations, old, sectorSize, SLICE), SLICE);
  });

  test.each(['delta', 'repair'] as const)(
    'leaves a whole system or none in %s',
    { timeout: 300_000 },
    async (mode) => {
      const before = outdated(image);
      const { operations, after } = await record({ image, before, format: 'chunked', sectorSize, mode });
      expect(after.equals(image)).toBe(true);
      expectWholeOrNothing(exploreWrite(operations, before, sectorSize));
    },
  );
});

/** Bytes that look like nothing, so that all that a system is found by is put there by the case. */
function filled(seed: number): Buffer {
  const random = seededRandom(seed);
  return Buffer.from(Uint32Array.from({ length: DISK / 4 }, () => random() * 2 ** 32).buffer);
}

const TABLES: Record<string, (image: Buffer) => void> = {
  'an MBR with a boot loader behind it': (image) => {
    image.fill(0, 446, 510);
    image[450] = 0x83;
    image.writeUInt32LE(2048, 454);
    image.writeUInt32LE(DISK / 512 - 2048, 458);
    image.writeUInt16LE(0xaa55, 510);
  },
  'a hybrid ISO': (image) => {
    makeDiskImage(DISK, 5).copy(image, 0, 0, 34 * 512);
    makeDiskImage(DISK, 5).copy(image, DISK - 33 * 512, DISK - 33 * 512);
    for (const [i, type] of [1, 0, 255].entries()) {
      const descriptor = Buffer.alloc(2048);
      descriptor[0] = type;
      descriptor.write('CD001\x01', 1, 'latin1');
      if (type === 0) descriptor.write('EL TORITO SPECIFICATION', 7);
      descriptor.writeUInt32LE(DISK / 2048, 80);
      descriptor.writeUInt16LE(2048, 128);
      descriptor.copy(image, 32_768 + i * 2048);
    }
  },
  'no table, but a file system': (image) => {
    image.fill(0, 0, 1024);
    image.write('\x53\xef', 1024 + 56, 'latin1');
  },
};

test.each(Object.entries(TABLES))(
  'the same holds for an image with %s',
  { timeout: 300_000 },
  async (_, make) => {
    const [image, before] = [filled(1), filled(2)];
    make(image);
    make(before);
    const cases = [
      { before, format: 'raw' },
      { before, format: 'chunked' },
      { before: outdated(image), format: 'chunked', mode: 'delta' },
    ] as const;
    for (const each of cases) {
      const { operations, after } = await record({ image, sectorSize: 512, ...each });
      expect(after.equals(image)).toBe(true);
      expectWholeOrNothing(exploreWrite(operations, each.before, 512, SLICE), SLICE);
    }
  },
);

describe('an order that is wrong is found out:', { timeout: 300_000 }, () => {
  const before = makeDiskImage(DISK, 99);
  let operations: Operation[];
  beforeAll(async () => {
    ({ operations } = await record({
      image: makeDiskImage(DISK, 7),
      before,
      format: 'raw',
      sectorSize: 512,
    }));
  });

  const isBootSector = ({ kind, position, bytes }: Operation) =>
    kind === 'write' && position === 0 && bytes.length === 512;
  const halves = (mutated: readonly Operation[]) => exploreWrite(mutated, before, 512, SLICE).half.length;
  /** The last sync before this operation. */
  const syncBefore = (operation: Operation | undefined) =>
    operations.findLast(({ kind, end }) => kind === 'sync' && end < (operation?.begin ?? 0));

  test('as it is there is nothing to find', () => {
    expect(halves(operations)).toBe(0);
  });

  test('no sync before the boot sector is written', () => {
    const last = operations.findLast(isBootSector);
    expect(halves(operations.filter((each) => each !== syncBefore(last)))).toBeGreaterThan(0);
  });

  test('no sync before the first sector by which the disk is found', () => {
    const table = operations.findLast(({ kind, position }) => kind === 'write' && position === DISK - 512);
    expect(halves(operations.filter((each) => each !== syncBefore(table)))).toBeGreaterThan(0);
  });

  test('no sync between the old boot sector and the first new byte', () => {
    const content = operations.find(
      ({ kind, position }) => kind === 'write' && position >= MIB && position < DISK - MIB,
    );
    const mutated = operations.filter(({ kind, begin }) => kind !== 'sync' || begin > (content?.begin ?? 0));
    expect(halves(mutated)).toBeGreaterThan(0);
  });

  test('the boot sector before the data', () => {
    const last = operations.findLast(isBootSector);
    const content = operations.find(
      ({ kind, position }) => kind === 'write' && position >= MIB && position < DISK - MIB,
    );
    if (!last || !content) throw new Error('no such operation');
    const early = { ...last, begin: content.begin - 0.5, end: content.begin - 0.4 };
    const mutated = operations.flatMap((each) =>
      each === content ? [early, each] : each === last ? [] : [each],
    );
    expect(halves(mutated)).toBeGreaterThan(0);
  });
});
