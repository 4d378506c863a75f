import type { HandOver } from '../../protocol/action-events.ts';
import type { Disk, Inventory } from '../../protocol/inventory.ts';
import type { Log } from '../report/log.ts';
import type { Executor } from './executor.ts';
import type { Work } from './work.ts';

interface Way {
  action: 'boot-order' | 'kexec';
  variables: Record<string, string>;
}

const TIMEOUT_MS = 120_000;
const ROOT_FILESYSTEMS = new Set(['ext4', 'ext3', 'ext2', 'xfs', 'btrfs']);
const GRUB_CONFIGS = ['boot/grub/grub.cfg', 'boot/grub2/grub.cfg', 'grub/grub.cfg', 'grub2/grub.cfg'];

/**
 * Leaves the Micro-OS for the system that is on one of the disks. Under UEFI the firmware is told once (BootNext) and keeps its order, so that
 * a machine that asks the network first goes on doing so; a BIOS cannot be told, and the installed kernel is started from here. Writes
 * nothing to a disk but a loader at the removable path, where there was none.
 */
export async function startInstalledSystem(
  { firmware, disks }: Pick<Inventory, 'firmware' | 'disks'>,
  executor: Executor,
  log: Log,
  signal?: AbortSignal,
): Promise<HandOver | undefined> {
  const own = disks.filter(({ kind, isBootMedium, isVirtualMedia, network }) => {
    return kind === 'disk' && !isBootMedium && !isVirtualMedia && network === undefined;
  });
  for (const way of own.flatMap(firmware.kind === 'bios' ? waysByKernel : waysByFirmware)) {
    const { state, message, handOver } = await executor.execute(workOf(way), {
      log,
      signal,
      onProgress: () => {},
    });
    signal?.throwIfAborted();
    if (state === 'success') return handOver ?? { kind: 'reboot' };
    log.debug(way.variables, `no way to the disk by ${way.action}: ${message}`);
  }
  return undefined;
}

function waysByFirmware({ path, partitionTable }: Disk): Way[] {
  if (partitionTable === undefined) return [];
  return [{ action: 'boot-order', variables: { DEST_DISK: path, BOOT_POLICY: 'after-report' } }];
}

function waysByKernel({ partitions }: Disk): Way[] {
  return partitions
    .filter(({ signatures }) => signatures.some(({ type }) => ROOT_FILESYSTEMS.has(type)))
    .flatMap(({ path }) =>
      GRUB_CONFIGS.map((file): Way => {
        return { action: 'kexec', variables: { BLOCK_DEVICE: path, GRUBCFG_PATH: file } };
      }),
    );
}

/** An action of no workflow: nobody is told of it, and the journal does not keep it. */
function workOf({ action, variables }: Way): Work {
  return {
    dialect: 'tink-legacy',
    workflowId: 'start-installed-system',
    taskId: '',
    actionId: action,
    name: action,
    image: action,
    timeoutMs: TIMEOUT_MS,
    command: [],
    volumes: [],
    environment: variables,
    serverState: 'unknown',
  };
}
