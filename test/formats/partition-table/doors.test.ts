import { describe, expect, test } from 'vitest';
import { openingStages, shuttingStages } from '../../../formats/partition-table/doors.ts';
import { makeDiskImage } from '../../actions/image-writer/test-image.ts';

const DISK = 4 * 1024 * 1024;
const readFrom = (disk: Buffer) => (position: number, length: number) =>
  disk.subarray(position, position + length);
const positions = (stages: { position: number }[][]) =>
  stages.map((stage) => stage.map(({ position }) => position));

describe.each([512, 4096])('with sectors of %d bytes', (sectorSize) => {
  const disk = makeDiskImage(DISK, 1, sectorSize);

  test('a disk is shut from LBA 0 on and opened the other way round', () => {
    const shutting = shuttingStages(DISK, sectorSize, readFrom(disk));
    expect(positions(shutting)).toEqual([[0], [sectorSize], [DISK - sectorSize]]);
    expect(shutting.flat().every(({ bytes }) => bytes.length === sectorSize && !bytes.some(Boolean))).toBe(
      true,
    );

    const [rest, ...opening] = openingStages([{ position: 0, bytes: disk }], DISK, sectorSize);
    expect(positions(opening)).toEqual([[DISK - sectorSize], [sectorSize], [0]]);
    const written = Buffer.alloc(DISK, 0xaa);
    for (const { position, bytes } of rest ?? []) bytes.copy(written, position);
    expect(positions(shuttingStages(DISK, sectorSize, readFrom(written)))).toEqual([[0]]);
    expect(written.subarray(0, 512).some(Boolean)).toBe(false);
    for (const { position, bytes } of opening.flat()) bytes.copy(written, position);
    expect(written.equals(disk)).toBe(true);
  });

  test('volumes without a table have doors of their own', () => {
    const volumes = Buffer.alloc(DISK);
    volumes.write('CD001', 32_769);
    volumes.write('_BHRfS_M', 65_536 + 64);
    expect(positions(shuttingStages(DISK, sectorSize, readFrom(volumes)))).toEqual([[0], [32_768, 65_536]]);
  });
});

test('where there is no signature there is data, and no door', () => {
  const data = Buffer.alloc(DISK, 0x11);
  expect(positions(shuttingStages(DISK, 512, readFrom(data)))).toEqual([[0]]);
  const nothing = () => Buffer.alloc(0);
  expect(positions(shuttingStages(DISK, 512, nothing))).toEqual([[0]]);
});

test('of pieces that overlap, the later one counts, in a door as well', () => {
  const [first, second] = [Buffer.alloc(2048, 1), Buffer.alloc(512, 2)];
  second.write('EFI PART');
  const pieces = [
    { position: 0, bytes: first },
    { position: 512, bytes: second },
  ];
  const stages = openingStages(pieces, DISK, 512);
  expect(stages.at(-2)).toEqual([{ position: 512, bytes: second }]);
});
