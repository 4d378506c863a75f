import { describe, expect, it } from 'vitest';
import { encodeGpt, type GptLayout, usableRange } from '../../../formats/partition-table/gpt-encode.ts';
import { readPartitionTable } from '../../../formats/partition-table/read.ts';
import fc from '../../seeds/fast-check.ts';

const GUID = '0fc63daf-8483-4772-8e79-3d69d8477de4';

/** The table as a disk that holds nothing else. */
function readerOf(layout: GptLayout) {
  const pieces = encodeGpt(layout);
  return async (offset: number, length: number) => {
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, layout.sizeBytes - offset)));
    for (const piece of pieces) {
      const from = Math.max(offset, piece.offset);
      const to = Math.min(offset + bytes.length, piece.offset + piece.bytes.length);
      if (to > from) piece.bytes.copy(bytes, from - offset, from - piece.offset, to - piece.offset);
    }
    return bytes;
  };
}

const uuid = (n: number) => `${n.toString(16).padStart(8, '0')}-1111-2222-3333-444444444444`;

describe('a partition table we write', () => {
  it('reads back as it was, on disks of both sector sizes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(512, 4096),
        fc.integer({ min: 64, max: 100_000 }),
        fc.array(
          fc.record({
            mebibytes: fc.integer({ min: 1, max: 20 }),
            label: fc.string({ maxLength: 36, unit: 'grapheme-ascii' }),
            attributes: fc.constantFrom(0n, 4n, 1n << 59n),
          }),
          { maxLength: 8 },
        ),
        async (sectorBytes, mebibytes, parts) => {
          const sizeBytes = mebibytes * 2 ** 20;
          let next = 1 << 20;
          const partitions = parts
            .map(({ mebibytes: size, label, attributes }, index) => {
              const startBytes = next;
              next += size << 20;
              return {
                number: index + 1,
                startBytes,
                sizeBytes: size << 20,
                type: GUID,
                partUuid: uuid(index + 1),
                ...(label ? { partLabel: label } : {}),
                ...(attributes ? { attributes } : {}),
              };
            })
            .filter(
              (part) => part.startBytes + part.sizeBytes <= usableRange({ sectorBytes, sizeBytes }).end,
            );
          const layout = { diskGuid: uuid(99), sectorBytes, sizeBytes, partitions };
          expect(await readPartitionTable(readerOf(layout), sizeBytes, sectorBytes)).toEqual({
            kind: 'gpt',
            id: uuid(99),
            sectorBytes,
            partitions,
            copies: { primary: true, backup: true },
          });
        },
      ),
      { numRuns: 100 },
    );
  });

  const part = (number: number, start: number, size: number) => ({
    number,
    startBytes: start << 20,
    sizeBytes: size << 20,
    type: GUID,
    partUuid: uuid(number),
  });
  it.each([
    ['overlaps', [part(1, 1, 10), part(2, 5, 10)]],
    ['outside', [part(1, 1, 100)]],
    ['outside', [{ ...part(1, 0, 1) }]],
    ['number', [part(1, 1, 1), part(1, 3, 1)]],
    ['whole sectors', [{ ...part(1, 1, 1), sizeBytes: 100 }]],
  ])('that %s is refused', (problem, partitions) => {
    expect(() =>
      encodeGpt({ diskGuid: uuid(9), sectorBytes: 512, sizeBytes: 64 << 20, partitions }),
    ).toThrowError(
      expect.objectContaining({ code: 'KND_PARTITION_LAYOUT', message: expect.stringContaining(problem) }),
    );
  });
});
