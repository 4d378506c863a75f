import { describe, expect, test } from 'vitest';
import { MAX_EXTENTS, Qcow2Extents } from '../../../actions/image-writer/decoders/qcow2-extents.ts';
import { loadQcow2Map, type ReadAt } from '../../../actions/image-writer/decoders/qcow2-map.ts';

const MIB = 1024 * 1024;
const CLUSTER = 64 * 1024;
const ENTRIES = CLUSTER / 8;
const TIB = 2 ** 40;

/** The tables of an image of 1 TiB that is written in pieces of one cluster, of which every `every`th is there, backwards. */
function tables(every: number): ReadAt {
  const header = Buffer.alloc(112);
  header.write('QFI\xfb', 0, 'latin1');
  header.writeUInt32BE(3, 4);
  header.writeUInt32BE(16, 20);
  header.writeBigUInt64BE(BigInt(TIB), 24);
  const l1Size = TIB / CLUSTER / ENTRIES;
  header.writeUInt32BE(l1Size, 36);
  header.writeBigUInt64BE(BigInt(CLUSTER), 40);
  header.writeUInt32BE(112, 100);
  const l1 = Buffer.alloc(l1Size * 8);
  for (let i = 0; i < l1Size; i += 1) l1.writeBigUInt64BE(BigInt((i + 2) * CLUSTER), i * 8);
  const l2 = Buffer.alloc(CLUSTER);
  return async (position, length) => {
    if (position === 0) return header;
    if (position === CLUSTER) return l1;
    const table = position / CLUSTER - 2;
    if (table >= l1Size) return Buffer.alloc(length);
    for (let j = 0; j < ENTRIES; j += 1) {
      const cluster = table * ENTRIES + j;
      const host = cluster % every === 0 ? (2 ** 25 - 1 - cluster) * CLUSTER : 0;
      l2.writeUInt32BE(Math.floor(host / 2 ** 32), j * 8);
      l2.writeUInt32BE(host % 2 ** 32, j * 8 + 4);
    }
    return l2;
  };
}

test('one table that is named for every part of the disk is damage: 4 MB would describe an endless disk', async () => {
  const readAt = tables(2);
  const one = Buffer.alloc(8);
  one.writeBigUInt64BE(BigInt(2 * CLUSTER));
  const repeated: ReadAt = async (position, length) =>
    position === CLUSTER ? Buffer.alloc(length, one) : await readAt(position, length);
  await expect(loadQcow2Map(repeated, 2 * MIB)).rejects.toMatchObject({
    code: 'KND_IMAGE_CORRUPT',
    message: 'the qcow2 image names one of its tables twice',
  });
});

describe('the table of a qcow2 image of 1 TiB', () => {
  test('in eight million pieces takes 16 bytes for each, and no more than 128 MiB', async () => {
    const before = process.memoryUsage().rss;
    const map = await loadQcow2Map(tables(2), 2 * MIB);
    const grown = process.memoryUsage().rss - before;
    expect(map.extents.count).toBe(MAX_EXTENTS);
    expect(map.extents.memory.byteLength).toBe(128 * MIB);
    // sorting takes a copy of half of it for a moment
    expect(grown).toBeLessThan(260 * MIB);
    const [first] = new Qcow2Extents(map.extents.memory, map.extents.count, map.facts).byHost();
    expect(first?.guest).toBe(TIB - 2 * CLUSTER);
  });

  test('in more pieces is refused before anything is written', async () => {
    await expect(loadQcow2Map(tables(1), 2 * MIB)).rejects.toMatchObject({
      code: 'KND_IMAGE_UNSUPPORTED',
      message: expect.stringContaining('pieces'),
    });
  });
});
