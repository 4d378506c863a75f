import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readDisks } from '../../../agent/inventory/disks.ts';
import { machineFiles } from '../../../system/machine-files.ts';
import { run } from '../../../system/run.ts';

const MIB = 1024 * 1024;

test('a real block device: its table, what is on each partition, and that it is the boot medium', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kindling-disks-'));
  const file = join(folder, 'disk.raw');
  const loops: string[] = [];
  const attach = async (...args: string[]) => {
    const loop = (await run('losetup', ['--show', '-f', ...args, file])).stdout.trim();
    loops.push(loop);
    return loop;
  };
  try {
    await writeFile(file, '');
    await truncate(file, 128 * MIB);
    const script = [
      'label: gpt',
      'start=1MiB, size=32MiB, name="root"',
      'start=33MiB, size=32MiB, name="secret"',
      'start=65MiB, size=16MiB, name="swap"',
    ];
    await run('sfdisk', ['-q', file], { input: script.join('\n') });
    const part = (start: number, size: number) =>
      attach('-o', String(start * MIB), '--sizelimit', String(size * MIB));
    await run('mkfs.ext4', ['-q', '-L', 'KINDLING', await part(1, 32)]);
    await run('cryptsetup', [
      'luksFormat',
      '--batch-mode',
      '--pbkdf',
      'pbkdf2',
      '--pbkdf-force-iterations',
      '1000',
      '--key-file',
      '/etc/hostname',
      await part(33, 32),
    ]);
    await run('mkswap', ['-q', await part(65, 16)]);
    const disk = await attach();

    const disks = await readDisks(machineFiles(), { partUuids: [], names: ['KINDLING'] });
    expect(disks.find(({ path }) => path === disk)).toMatchObject({
      kind: 'loop',
      sizeBytes: 128 * MIB,
      partitionTable: 'gpt',
      isBootMedium: true,
      partitions: [
        {
          number: 1,
          path: `${disk}p1`,
          partLabel: 'root',
          startBytes: MIB,
          sizeBytes: 32 * MIB,
          signatures: [{ type: 'ext4', label: 'KINDLING' }],
        },
        { number: 2, partLabel: 'secret', signatures: [{ type: 'crypto_LUKS' }] },
        { number: 3, partLabel: 'swap', signatures: [{ type: 'swap' }] },
      ],
    });
  } finally {
    for (const loop of loops.reverse()) await run('losetup', ['-d', loop]).catch(() => {});
    await rm(folder, { recursive: true, force: true });
  }
});
