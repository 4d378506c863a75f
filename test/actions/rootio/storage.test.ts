import { describe, expect, it } from 'vitest';
import { formatCommand, parseMetadata, planPartitions } from '../../../actions/rootio/storage.ts';

const metadata = (storage: object) => JSON.stringify({ metadata: { instance: { storage } } });
const disk = { sizeBytes: 2 ** 30, sectorBytes: 512 };
const partitions = [
  { label: 'BIOS', number: 1, size: 4096 },
  { label: 'SWAP', number: '2', size: '100000' },
  { label: 'ROOT', number: 3, size: 0 },
];

describe('the metadata of rootio', () => {
  it('is read in both spellings, numbers as text too', () => {
    const storage = parseMetadata(metadata({ disks: [{ device: '/dev/sda', wipeTable: true, partitions }] }));
    expect(storage.disks[0]?.partitions).toEqual([
      { label: 'BIOS', number: 1, size: 4096 },
      { label: 'SWAP', number: 2, size: 100000 },
      { label: 'ROOT', number: 3, size: 0 },
    ]);
    expect(storage.filesystems).toEqual([]);
  });

  it.each(['', '{}', '{"metadata":{"instance":{}}}', metadata({ disks: [{ partitions: [] }] })])(
    '%j is refused',
    (json) => {
      expect(() => parseMetadata(json)).toThrowError(
        expect.objectContaining({ code: 'KND_METADATA_INVALID' }),
      );
    },
  );
});

describe('its partitions', () => {
  const plan = (list: object[]) => {
    const [wanted] = parseMetadata(metadata({ disks: [{ device: '/dev/sda', partitions: list }] })).disks;
    return wanted ? planPartitions(wanted, disk, () => '11111111-1111-1111-1111-111111111111') : [];
  };
  it('follow each other on whole MiBs, the last takes the rest, labels set the type', () => {
    const [bios, swap, root] = plan(partitions);
    expect(bios).toMatchObject({
      startBytes: 2 ** 20,
      sizeBytes: 4096 * 512,
      type: '21686148-6449-6e6f-744e-656564454649',
    });
    expect(swap).toMatchObject({
      startBytes: 3 * 2 ** 20,
      sizeBytes: 100000 * 512,
      type: '0657fd6d-a4ab-43c4-84e5-0933c84b4f4f',
    });
    expect((root?.startBytes ?? 0) + (root?.sizeBytes ?? 0)).toBeGreaterThan(2 ** 30 - 3 * 2 ** 20);
  });

  it('with one that takes the rest in the middle are refused', () => {
    expect(() =>
      plan([
        { label: 'A', number: 1, size: 0 },
        { label: 'B', number: 2, size: 100 },
      ]),
    ).toThrowError(expect.objectContaining({ code: 'KND_PARTITION_LAYOUT' }));
  });
});

it('file systems are made by their own tools; an unknown one is not made', () => {
  expect(formatCommand('ext4', ['-L', 'ROOT'], '/dev/x')).toEqual([
    'mke2fs',
    ['-t', 'ext4', '-F', '-L', 'ROOT', '/dev/x'],
  ]);
  expect(formatCommand('swap', [], '/dev/x')).toEqual(['mkswap', ['/dev/x']]);
  expect(formatCommand('ntfs', [], '/dev/x')).toBeUndefined();
});
