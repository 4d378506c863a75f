import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { TreeReader } from '../../../images/unused/btrfs-tree.ts';
import { crc32c } from '../../../images/unused/crc32c.ts';
import { PartitionReader } from '../../../images/unused/file-system.ts';
import { readXfs } from '../../../images/unused/xfs.ts';
import { sealXfs, XFS, xfsStructures } from '../../fuzz/structures.ts';
import { emptyImage } from '../used-file-system.ts';

const reader = (image: Buffer) =>
  new PartitionReader(async (at, length) => image.subarray(at, at + length), 0, image.length);

it('xfs: a leaf without records that leads to itself is a doubt, not a walk without end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-endless-'));
  try {
    const file = join(folder, 'xfs');
    await emptyImage(file, 300 * 2 ** 20);
    await execa('mkfs.xfs', ['-q', file]);
    const image = readFileSync(file);
    const { at } = xfsStructures(image).find(({ length }) => length === 4096) ?? { at: 0 };
    const leaf = image.subarray(at, at + 4096);
    await expect(readXfs(reader(image))).resolves.toMatchObject({ end: image.length });
    leaf.writeUInt16BE(0, 6);
    leaf.writeUInt32BE(at / 4096, 12);
    sealXfs(leaf, XFS.treeCrc);
    await expect(readXfs(reader(image))).rejects.toThrow(
      'the free extents of allocation group 0 make no sense',
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('btrfs: a node that is named twice is a doubt; 400 times on each level would never end', async () => {
  const NODE = 4096;
  const image = Buffer.alloc(2 * NODE);
  const uuid = Buffer.alloc(16, 7);
  const put = (place: number, level: number, children: number[]) => {
    const node = image.subarray(place, place + NODE);
    uuid.copy(node, 32);
    node.writeBigUInt64LE(BigInt(place), 48);
    node.writeUInt32LE(children.length, 96);
    node.writeUInt8(level, 100);
    for (const [index, child] of children.entries())
      node.writeBigUInt64LE(BigInt(child), 101 + index * 33 + 17);
    node.writeUInt32LE(crc32c(node.subarray(32)), 0);
  };
  const walk = () => {
    const chunks = [{ start: 0, length: image.length, stripes: [0] }];
    const tree = new TreeReader(reader(image), { nodeSize: NODE, uuid, chunks });
    return tree.walk({ place: 0, level: 1, generation: 0n }, () => {});
  };
  put(NODE, 0, []);
  put(0, 1, [NODE]);
  await walk();
  put(0, 1, [NODE, NODE]);
  await expect(walk()).rejects.toThrow('a node of its trees is named twice');
});
