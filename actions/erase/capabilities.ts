import { readFile } from 'node:fs/promises';
import type { Disk } from '../../protocol/inventory.ts';
import type { Run } from '../../system/run.ts';
import { readAtaSecurity } from '../resources/ata-password.ts';
import type { EraseCapabilities } from './methods.ts';
import type { AdminCommand } from './nvme-admin.ts';
import { readNvmeCapabilities } from './nvme-commands.ts';

/**
 * Asks the kernel, and the disk itself where a tool can: a disk that does not say it can is not tried
 * (docs/background/boot-chain.md#disks-and-erasing: tools exit 0 all the same).
 */
export async function readCapabilities(
  disk: Disk,
  run: Run,
  send?: AdminCommand,
): Promise<EraseCapabilities> {
  const queue = async (name: string) =>
    Number(await readFile(`/sys/class/block/${disk.name}/queue/${name}`, 'utf8').catch(() => '0'));
  const nvme = disk.bus === 'nvme' ? nvmeCapabilities(disk, send) : undefined;
  // A SATA disk behind a SAS controller is still one.
  const ata = ['sata', 'ide', 'scsi', 'sas', 'other'].includes(disk.bus)
    ? await readAtaSecurity(disk.path, run)
    : undefined;
  return {
    discard: (await queue('discard_max_bytes')) > 0,
    writeZeroes: (await queue('write_zeroes_max_bytes')) > 0,
    ...(nvme ? { nvme } : {}),
    ...(ata ? { ata } : {}),
  };
}

function nvmeCapabilities(disk: Disk, send?: AdminCommand): EraseCapabilities['nvme'] {
  try {
    return readNvmeCapabilities(disk.path, send);
  } catch {
    return undefined; // a disk that does not answer is not asked to erase itself
  }
}
