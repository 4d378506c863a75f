import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { probeSignatures, summarizeSignatures } from '../../../formats/disk-signatures/probe.ts';
import { readPartitionTable } from '../../../formats/partition-table/read.ts';
import { run } from '../../../system/run.ts';

const MIB = 1024 * 1024;
let folder: string;
let disk: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-signatures-'));
  disk = join(folder, 'disk.raw');
  await writeFile(disk, '');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function withDisk<T>(
  work: (readAt: (at: number, length: number) => Promise<Buffer>, size: number) => Promise<T>,
) {
  const handle = await open(disk, 'r');
  try {
    const { size } = await handle.stat();
    return await work(async (at, length) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, at);
      return buffer.subarray(0, bytesRead);
    }, size);
  } finally {
    await handle.close();
  }
}

/** What util-linux says about the same file. */
async function blkid(): Promise<Record<string, string>> {
  const { stdout } = await run('blkid', ['-p', '-o', 'export', disk]);
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/).slice(0, 2)),
  );
}

// Each made by the real tool; we must see what blkid sees: type, uuid, label.
const MADE_BY: [string, number, string, string[]][] = [
  ['ext4', 16, 'mkfs.ext4', ['-q', '-L', 'root']],
  ['ext3', 16, 'mkfs.ext3', ['-q', '-L', 'root']],
  ['ext2', 16, 'mkfs.ext2', ['-q']],
  ['xfs', 320, 'mkfs.xfs', ['-q', '-L', 'data']],
  ['btrfs', 200, 'mkfs.btrfs', ['-q', '-L', 'pool']],
  ['FAT32', 64, 'mkfs.vfat', ['-F', '32', '-n', 'ESP']],
  ['FAT16', 16, 'mkfs.vfat', ['-F', '16']],
  ['swap', 8, 'mkswap', ['-L', 'swap']],
  [
    'LUKS1',
    16,
    'cryptsetup',
    [
      'luksFormat',
      '--batch-mode',
      '--type',
      'luks1',
      '--pbkdf-force-iterations',
      '1000',
      '--key-file',
      '/etc/hostname',
    ],
  ],
  [
    'LUKS2',
    32,
    'cryptsetup',
    [
      'luksFormat',
      '--batch-mode',
      '--type',
      'luks2',
      '--label',
      'secret',
      '--pbkdf',
      'pbkdf2',
      '--pbkdf-force-iterations',
      '1000',
      '--key-file',
      '/etc/hostname',
    ],
  ],
];

test.each(MADE_BY)('%s is recognized as blkid recognizes it', async (_name, mib, program, args) => {
  await truncate(disk, mib * MIB);
  await run(program, [...args, disk]);
  const expected = await blkid();
  const found = await withDisk(probeSignatures);
  expect(summarizeSignatures(found)).toEqual([
    {
      type: expected['TYPE'],
      ...(expected['LABEL'] ? { label: expected['LABEL'] } : {}),
      ...(expected['UUID'] ? { uuid: expected['UUID'] } : {}),
    },
  ]);
});

test.each(MADE_BY)(
  'zeroing the magics of %s makes it unknown to us and to blkid',
  async (_name, mib, program, args) => {
    await truncate(disk, mib * MIB);
    await run(program, [...args, disk]);
    const found = await withDisk(probeSignatures);
    const handle = await open(disk, 'r+');
    for (const { magicOffset, magicBytes } of found)
      await handle.write(Buffer.alloc(magicBytes), 0, magicBytes, magicOffset);
    await handle.close();
    expect(await withDisk(probeSignatures)).toEqual([]);
    const { stdout } = await run('blkid', ['-p', '-o', 'export', disk], { okExitCodes: [0, 2] });
    expect(stdout).not.toContain('TYPE=');
  },
);

test.each([512, 4096])(
  'a GPT made by sfdisk for %i-byte sectors is read entry by entry',
  async (sectorBytes) => {
    await truncate(disk, 64 * MIB);
    const script = [
      'label: gpt',
      `start=${(8 * MIB) / sectorBytes}, size=${(16 * MIB) / sectorBytes}, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, name="EFI System"`,
      `type=0FC63DAF-8483-4772-8E79-3D69D8477DE4, name="root ü"`,
    ].join('\n');
    const loop = (await run('losetup', ['-b', String(sectorBytes), '--show', '-f', disk])).stdout.trim();
    try {
      await run('sfdisk', ['-q', '--no-reread', '--no-tell-kernel', loop], { input: script });
    } finally {
      await run('losetup', ['-d', loop]);
    }
    const table = await withDisk((readAt, size) => readPartitionTable(readAt, size, sectorBytes));
    expect(table).toMatchObject({
      kind: 'gpt',
      sectorBytes,
      copies: { primary: true, backup: true },
      partitions: [
        {
          number: 1,
          startBytes: 8 * MIB,
          sizeBytes: 16 * MIB,
          type: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
          partLabel: 'EFI System',
        },
        { number: 2, startBytes: 24 * MIB, partLabel: 'root ü' },
      ],
    });
  },
);

test('an MBR with logical partitions made by sfdisk is read as the kernel numbers them', async () => {
  await truncate(disk, 64 * MIB);
  const script = [
    'label: dos',
    'label-id: 0x12345678',
    'size=8M, type=83',
    'type=5',
    'size=8M, type=82',
    'size=8M, type=83',
  ].join('\n');
  await run('sfdisk', ['-q', disk], { input: script });
  const { stdout } = await run('sfdisk', ['--json', disk]);
  const expected = JSON.parse(stdout) as {
    partitiontable: { partitions: { node: string; start: number; size: number; type: string }[] };
  };
  const table = await withDisk((readAt, size) => readPartitionTable(readAt, size));
  expect(table?.id).toBe('12345678');
  expect(
    table?.partitions.map(({ number, startBytes, sizeBytes }) => [number, startBytes / 512, sizeBytes / 512]),
  ).toEqual(
    expected.partitiontable.partitions.map(({ node, start, size }) => [
      Number(/\d+$/.exec(node)?.[0]),
      start,
      size,
    ]),
  );
});
