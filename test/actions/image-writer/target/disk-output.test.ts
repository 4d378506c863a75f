import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DiskOutput } from '../../../../actions/image-writer/target/disk-output.ts';
import { openTarget } from '../../../../actions/image-writer/target/target.ts';
import { Withheld } from '../../../../actions/image-writer/target/withheld.ts';

const MIB = 1024 * 1024;

function setUp(zeroRunBytes = 0) {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-output-'));
  const path = join(folder, 'disk');
  writeFileSync(path, Buffer.alloc(8 * MIB, 0xaa));
  const target = openTarget(path);
  const output = new DiskOutput({
    target,
    blockBytes: MIB,
    blockCount: 2,
    targetIsZero: false,
    zeroRunBytes,
    onWritten: () => {},
  });
  return {
    output,
    target,
    disk: () => readFileSync(path),
    block(fill: number): Buffer {
      return (output.takeBlock() ?? Buffer.alloc(0)).fill(fill);
    },
    [Symbol.dispose]: () => {
      target.close();
      rmSync(folder, { recursive: true });
    },
  };
}

test('nothing is written before it is known what is withheld', () => {
  using set = setUp();
  const block = set.block(1);
  expect(() => set.output.write(block, MIB, 2 * MIB)).toThrow('nothing may be written');
  expect(() => set.output.writeZeros(2 * MIB, MIB)).toThrow('nothing may be written');
  expect(set.disk().every((byte) => byte === 0xaa)).toBe(true);
});

test('a block goes to its place but for what is withheld, and is free again when the disk has it', async () => {
  using set = setUp();
  set.output.open(Withheld.of(set.target));
  const landed: string[] = [];
  set.output.write(set.block(1), MIB, 0, () => landed.push('first'));
  set.output.write(set.block(2), MIB, 7 * MIB, () => landed.push('last'));
  await set.output.nextBlock();
  await set.output.finish();
  expect(landed.toSorted()).toEqual(['first', 'last']);
  const disk = set.disk();
  expect(disk.subarray(0, 7 * MIB).every((byte) => byte === 0xaa)).toBe(true);
  expect(disk.subarray(7 * MIB, -512).every((byte) => byte === 2)).toBe(true);
  expect(disk.subarray(-512).every((byte) => byte === 0xaa)).toBe(true);
});

test('zeros are there at once where each is noted as written, and together where nobody notes them', async () => {
  const zeros = (disk: Buffer) => disk.filter((byte) => byte === 0).length / MIB;
  using noted = setUp(0);
  noted.output.open(Withheld.of(noted.target));
  noted.output.writeZeros(2 * MIB, MIB);
  noted.output.write(noted.block(0), MIB, 3 * MIB);
  expect(zeros(noted.disk())).toBe(2);
  using together = setUp(3 * MIB);
  together.output.open(Withheld.of(together.target));
  together.output.writeZeros(2 * MIB, MIB);
  together.output.write(together.block(0), MIB, 3 * MIB);
  expect(zeros(together.disk())).toBe(0);
  together.output.writeZeros(4 * MIB, MIB);
  expect(zeros(together.disk())).toBe(3);
  together.output.writeZeros(6 * MIB, MIB);
  await together.output.finish();
  expect(zeros(together.disk())).toBe(4);
});
