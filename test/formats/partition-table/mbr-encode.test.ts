import { describe, expect, it } from 'vitest';
import { encodeMbr } from '../../../formats/partition-table/mbr-encode.ts';
import { readPartitionTable } from '../../../formats/partition-table/read.ts';

const MIB = 2 ** 20;
const disk = { sectorBytes: 512, sizeBytes: 64 * MIB, diskSignature: 0xdeadbeef };
const part = (number: number, startMib: number, sizeMib: number) => ({
  number,
  startBytes: startMib * MIB,
  sizeBytes: sizeMib * MIB,
  type: 0x83,
  isActive: number === 1,
});

describe('a DOS partition table', () => {
  it('is read back as it was written', async () => {
    const sector = encodeMbr({ ...disk, partitions: [part(1, 1, 10), part(3, 20, 44)] });
    const read = async (at: number, length: number) =>
      Buffer.concat([sector, Buffer.alloc(MIB)]).subarray(at, at + length);
    expect(await readPartitionTable(read, disk.sizeBytes, 512)).toMatchObject({
      kind: 'mbr',
      id: 'deadbeef',
      partitions: [
        { number: 1, startBytes: MIB, sizeBytes: 10 * MIB, type: '0x83', partUuid: 'deadbeef-01' },
        { number: 3, startBytes: 20 * MIB, sizeBytes: 44 * MIB },
      ],
    });
    expect([sector[446], sector[446 + 32]]).toEqual([0x80, 0]);
  });

  it.each([
    [[part(5, 1, 1)], 'not one of the four'],
    [[part(1, 1, 10), part(2, 10, 10)], 'overlaps partition 1'],
    [[part(1, 60, 10)], 'outside the disk'],
    [[{ ...part(1, 1, 1), sizeBytes: 1000 }], 'whole sectors'],
  ])('with %j is refused', (partitions, text) => {
    expect(() => encodeMbr({ ...disk, partitions })).toThrowError(
      expect.objectContaining({ code: 'KND_PARTITION_LAYOUT', message: expect.stringContaining(text) }),
    );
  });

  it('does not reach beyond 2 TiB', () => {
    const huge = { ...disk, sizeBytes: 3 * 2 ** 40 };
    const partitions = [{ ...part(1, 1, 1), sizeBytes: 2.5 * 2 ** 40 }];
    expect(() => encodeMbr({ ...huge, partitions })).toThrowError(/beyond what an MBR can address/);
  });
});
