import { describe, expect, it } from 'vitest';
import { createLog } from '../../../agent/report/log.ts';
import { Ring } from '../../../agent/report/ring.ts';
import type { Executed } from '../../../agent/workflow/executor.ts';
import { startInstalledSystem } from '../../../agent/workflow/start-installed-system.ts';
import type { Disk, Firmware } from '../../../protocol/inventory.ts';
import { disk } from '../../actions/disks/disk-fixture.ts';

const UEFI: Firmware = { kind: 'uefi', secureBoot: 'off' };
const BIOS: Firmware = { kind: 'bios', secureBoot: 'unsupported' };
const FAILED: Executed = { state: 'failed', message: 'KND_LOADER_NONE: no loader' };
const ROOT = {
  number: 1,
  path: '/dev/sdb1',
  startBytes: 2 ** 20,
  sizeBytes: 2 ** 30,
  signatures: [{ type: 'ext4' }],
};

describe('the way from the Micro-OS to the installed system', () => {
  it('is a word to the firmware for the first disk that has a loader; its order stays', async () => {
    const disks = [
      disk({ name: 'sda', partitionTable: 'gpt' }),
      disk({ name: 'sdb', partitionTable: 'gpt' }),
      disk({ name: 'sdc', partitionTable: 'gpt' }),
    ];
    const { how, tried } = await start(UEFI, disks, ({ DEST_DISK }) =>
      DEST_DISK === '/dev/sdb' ? { state: 'success', message: 'BootNext' } : FAILED,
    );
    expect(how).toEqual({ kind: 'reboot' });
    expect(tried).toEqual([
      ['boot-order', { DEST_DISK: '/dev/sda', BOOT_POLICY: 'after-report' }],
      ['boot-order', { DEST_DISK: '/dev/sdb', BOOT_POLICY: 'after-report' }],
    ]);
  });

  it('is the installed kernel where the firmware is a BIOS', async () => {
    const { how, tried } = await start(BIOS, [disk({ name: 'sdb', partitions: [ROOT] })], () => ({
      state: 'success',
      message: 'loaded',
      handOver: { kind: 'kexec' },
    }));
    expect(how).toEqual({ kind: 'kexec' });
    expect(tried).toEqual([['kexec', { BLOCK_DEVICE: '/dev/sdb1', GRUBCFG_PATH: 'boot/grub/grub.cfg' }]]);
  });

  it.each<[string, Partial<Disk>]>([
    ['is empty', {}],
    ['belongs to the network', { partitionTable: 'gpt', network: 'iscsi' }],
    ['is the stick the Micro-OS came from', { partitionTable: 'gpt', isBootMedium: true }],
    ['is a BMC’s virtual medium', { partitionTable: 'gpt', isVirtualMedia: true }],
  ])('does not lead to a disk that %s', async (_title, changes) => {
    const { how, tried } = await start(UEFI, [disk({ name: 'sda', ...changes })], () => FAILED);
    expect(how).toBeUndefined();
    expect(tried).toEqual([]);
  });
});

async function start(
  firmware: Firmware,
  disks: Disk[],
  answer: (environment: Record<string, string>) => Executed,
) {
  const tried: [string, Record<string, string>][] = [];
  const executor = {
    mayRunAgain: () => true,
    execute: async ({ image, environment }: { image: string; environment: Record<string, string> }) => {
      tried.push([image, environment]);
      return answer(environment);
    },
  };
  const log = createLog({ ring: new Ring(), level: 'info' });
  return { how: await startInstalledSystem({ firmware, disks }, executor, log), tried };
}
