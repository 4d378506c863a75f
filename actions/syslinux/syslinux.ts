import { readFile } from 'node:fs/promises';
import { LEGACY_BIOS_BOOTABLE, MBR } from '../../formats/partition-table/gpt-fields.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { defineAction } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { findDisk } from '../disks/choose-target.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { findInstalledDisk, readTable, writeTable } from '../disks/installed-disk.ts';
import { partitionPath, splitPartitionPath } from '../disks/partition-paths.ts';
import { mountFilesystem } from '../mounts/mount.ts';

/** Where Debian's extlinux keeps the code for the first sector of a disk. */
const BOOT_CODE = { mbr: '/usr/lib/EXTLINUX/mbr.bin', gpt: '/usr/lib/EXTLINUX/gptmbr.bin' };
const ENTRY_BYTES = 16;

export const syslinux = defineAction({
  name: 'syslinux',
  aliases: [],
  summary: 'Makes a disk bootable by a BIOS: the loader on a FAT partition, its code in the first sector',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    DEST_DISK: { type: 'absolute-path', description: 'The disk; without it the target disk' },
    DEST_PARTITION: {
      type: 'absolute-path',
      required: true,
      description: 'The FAT partition with the kernel and syslinux.cfg',
    },
    SYSLINUX_VERSION: {
      type: 'choice',
      choices: ['386', '3.86', '6.04'],
      default: '6.04',
      description: 'Accepted; Debian’s 6.04 is installed, which reads the same configuration',
    },
  },
  notes: [
    'The partition is marked as the one to boot (active in an MBR, legacy bootable in a GPT), which the reference leaves to others. The partition table stays. Needs the `full` profile.',
  ],
  async run(variables, context) {
    const { disk } = await findInstalledDisk(context, variables);
    const number = numberOn(disk, variables.DEST_PARTITION);
    const table = await readTable(disk);
    const partition = table?.partitions.find((part) => part.number === number);
    if (!table || !partition) {
      throw new KindlingError(
        'KND_DISK_NOT_FOUND',
        `${variables.DEST_PARTITION} is no partition of ${disk.path}`,
      );
    }
    if (context.isDryRun) return { summary: `would make ${disk.path} boot from ${variables.DEST_PARTITION}` };

    // The loader first: code that finds none would be worse than none.
    const mounted = await mountFilesystem(context, partitionPath(disk.path, number), { fsType: 'vfat' });
    await context.run('extlinux', ['--install', mounted.target]);
    await mounted.unmount();
    const code = await readFile(BOOT_CODE[table.kind]);
    await using device = await BlockDevice.open(disk.path);
    await installCode(device, code);
    if (table.kind === 'mbr') await markActive(device, number);
    else {
      const partitions = table.partitions.map((part) => {
        const others = (part.attributes ?? 0n) & ~LEGACY_BIOS_BOOTABLE;
        return { ...part, attributes: part.number === number ? others | LEGACY_BIOS_BOOTABLE : others };
      });
      await writeTable(device, {
        diskGuid: table.id ?? '',
        sectorBytes: disk.logicalSectorBytes,
        partitions,
      });
    }
    return { summary: `${disk.path} boots from ${variables.DEST_PARTITION} (${table.kind})` };
  },
});

function numberOn(disk: Disk, device: string): number {
  const parts = splitPartitionPath(device);
  if (parts && findDisk([disk], parts.disk)) return parts.number;
  throw new KindlingError('KND_DISK_NOT_FOUND', `${device} is no partition of ${disk.path}`);
}

/** Only the 440 bytes of code: the disk signature and the table behind them stay. */
async function installCode(device: BlockDevice, code: Buffer): Promise<void> {
  const sector = await device.readAt(0, 4096);
  sector.fill(0, 0, MBR.bootCodeBytes);
  code.copy(sector, 0, 0, MBR.bootCodeBytes);
  await device.writeAt(0, sector);
  await device.sync();
}

async function markActive(device: BlockDevice, number: number): Promise<void> {
  const sector = await device.readAt(0, 4096);
  for (const each of [1, 2, 3, 4]) {
    sector.writeUInt8(each === number ? 0x80 : 0, MBR.entry + (each - 1) * ENTRY_BYTES);
  }
  await device.writeAt(0, sector);
  await device.sync();
}
