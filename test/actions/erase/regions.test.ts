import { expect, it } from 'vitest';
import { regionsToClear } from '../../../actions/erase/regions.ts';
import fc from '../../seeds/fast-check.ts';

const MIB = 1 << 20;

it('a quick erase covers both ends, every partition’s ends and every signature, in merged whole blocks', () => {
  const anyDisk = fc.record({
    mebibytes: fc.integer({ min: 1, max: 4_000_000 }),
    partitions: fc.array(
      fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
      {
        maxLength: 6,
      },
    ),
    signatures: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
  });
  fc.assert(
    fc.property(anyDisk, ({ mebibytes, partitions, signatures }) => {
      const sizeBytes = mebibytes * MIB;
      const parts = partitions.map(([from, part], index) => {
        const startBytes = Math.floor((from * sizeBytes) / 512) * 512;
        const length = Math.floor((part * (sizeBytes - startBytes)) / 512) * 512;
        return { number: index + 1, path: '', startBytes, sizeBytes: length, signatures: [] };
      });
      const magics = signatures.map((at) => ({
        magicOffset: Math.floor(at * (sizeBytes - 8)),
        magicBytes: 8,
      }));
      const regions = regionsToClear({ sizeBytes, partitions: parts }, magics);
      const covers = (from: number, to: number) =>
        to <= from || regions.some(({ start, end }) => start <= from && to <= end);

      expect(covers(0, Math.min(sizeBytes, 32 * MIB))).toBe(true);
      expect(covers(Math.max(0, sizeBytes - 32 * MIB), sizeBytes)).toBe(true);
      for (const { startBytes, sizeBytes: length } of parts) {
        expect(covers(startBytes, startBytes + Math.min(length, 16 * MIB))).toBe(true);
        expect(covers(startBytes + Math.max(0, length - MIB), startBytes + length)).toBe(true);
      }
      for (const { magicOffset } of magics) expect(covers(magicOffset, magicOffset + 8)).toBe(true);
      for (const [index, region] of regions.entries()) {
        expect(region.start % 4096).toBe(0);
        expect(region.end).toBeLessThanOrEqual(sizeBytes);
        expect(region.start).toBeGreaterThan(regions[index - 1]?.end ?? -1);
      }
    }),
    { numRuns: 500 },
  );
});
