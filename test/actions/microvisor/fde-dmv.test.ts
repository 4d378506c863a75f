import { expect, it } from 'vitest';
import { runInChild } from '../../../actions/process/run-in-child.ts';
import { disk } from '../disks/disk-fixture.ts';

const ubuntu = disk({
  name: 'nvme0n1',
  bus: 'nvme',
  partitionTable: 'gpt',
  partitions: [
    {
      number: 1,
      path: '/dev/nvme0n1p1',
      startBytes: 1 << 20,
      sizeBytes: 2 ** 31,
      type: 'x',
      signatures: [{ type: 'ext4' }],
    },
  ] as never,
});

const run = (variables: Record<string, string>) =>
  runInChild({
    action: 'fde_dmv',
    variables,
    machine: { listDisks: async () => [ubuntu], secureBoot: async () => 'off' },
    signal: new AbortController().signal,
    emit: () => {},
  });

it('a mutable system without anybody to take its recovery key is refused before anything is touched', async () => {
  await expect(run({ DEST_DISK: '/dev/nvme0n1', LVM_SIZE: '' })).rejects.toMatchObject({
    code: 'KND_ESCROW_NONE',
  });
});

it.each([
  [{ LVM_SIZE: 'many' }],
  [{ ENABLE_ONLY_DMVERITY: 'perhaps' }],
  [{ FDE_PCRS: '7;15' }],
  [{ KINDLING_SEAL: 'always' }],
  [{ MINIMUM_ROOTFS_SIZE: '0' }],
  [{ KINDLING_ESCROW: 'maybe' }],
  [{ KINDLING_ESCROW_URL: 'not a url' }],
  [{ DEST_DISK: 'nvme0n1' }],
])('%j is refused', async (variables) => {
  await expect(run(variables as Record<string, string>)).rejects.toMatchObject({
    code: 'KND_ACTION_VARIABLES',
  });
});
