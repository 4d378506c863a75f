import { toErrorReport } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import type { Installation } from './installation.ts';
import { runStep } from './run-step.ts';
import { startDiskNext } from './start-disk.ts';
import type { MachineStatus } from './stick-folder.ts';

/** A firmware that comes back to the stick again and again within minutes is not fixed by trying for ever. */
const MAX_HAND_OVERS = 3;
const LATELY_MS = 10 * 60_000;

/**
 * Makes the machine's next start go to the disk: by the firmware's list under UEFI, by the stick's own loader under BIOS. The latter only if
 * that start comes at once: before another, the stick may be in another machine.
 */
export async function startFromDisk(
  installation: Installation,
  disk: Disk,
  after: 'reboot' | 'poweroff',
): Promise<void> {
  const { inventory, say, stick, run } = installation;
  if (inventory.firmware.kind !== 'bios') {
    await runStep(installation, 'boot-order', { DEST_DISK: disk.path });
    return;
  }
  if (after === 'poweroff') return;
  try {
    await startDiskNext(disk, stick.bootPath, run);
    say('a BIOS that starts the stick again is sent on to the disk');
  } catch (thrown) {
    // The disk itself is good; only with the stick left in the machine would not get there.
    say(`take the stick out before the next start: ${toErrorReport(thrown).message}`);
  }
}

/** Installed before, and the firmware started the stick all the same. */
export async function goToDisk(
  installation: Installation,
  before: MachineStatus,
): Promise<'reboot' | 'poweroff'> {
  const { say, folder, log, consoles, machine } = installation;
  const now = Date.now();
  const isLately = now - Date.parse(before.handedOverAt ?? '') < LATELY_MS;
  const handOvers = (isLately ? (before.handOvers ?? 0) : 0) + 1;
  say(`this machine was installed from this stick on ${before.at}`);
  consoles.marker('ALREADY-INSTALLED', { handOvers });
  const disks = await machine.listDisks();
  const disk = disks.find(({ serial, path }) => (serial ?? path) === before.disk);
  if (disk === undefined || handOvers > MAX_HAND_OVERS) {
    const why =
      disk === undefined ? `its disk ${before.disk} is gone` : 'the firmware does not go to its disk';
    say(`${why}: take the stick out and switch the machine on again`);
    say('to install anew, delete its file in the folder status of the stick');
    return 'poweroff';
  }
  await folder?.write({ ...before, handOvers, handedOverAt: new Date(now).toISOString() }, log);
  await startFromDisk(installation, disk, 'reboot');
  return 'reboot';
}
