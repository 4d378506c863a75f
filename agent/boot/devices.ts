import { KindlingError } from '../../protocol/error.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import type { Run } from '../../system/run.ts';
import { waitFor } from '../../system/wait.ts';
import type { View } from '../console/view.ts';
import { physicalNics } from '../identity/physical-nics.ts';
import { readDiskFacts } from '../inventory/disk-facts.ts';
import { driverless, readPciDevices } from '../inventory/pci.ts';

/** Disks on SAS controllers and USB take seconds to show up; one that takes longer is found later, by the code that needs it. */
const DISK_PATIENCE_MS = 15_000;

/** Waits until there is a disk and no more devices appear; a machine without any disk is told so, and goes on. */
export async function waitForDevices(files: MachineFiles, run: Run, view: View): Promise<void> {
  const endWait = view.waiting('devices', 'a disk');
  let before = '';
  try {
    await waitFor(
      async () => {
        const disks = readDiskFacts(files).filter(({ kind, sizeBytes }) => kind === 'disk' && sizeBytes > 0);
        const seen = [...disks, ...physicalNics(files)].map(({ name }) => name).join(' ');
        const isSettled = disks.length > 0 && seen === before;
        before = seen;
        if (isSettled) return true;
        await loadDrivers(files, run);
        return undefined;
      },
      { name: 'a disk', timeoutMs: DISK_PATIENCE_MS, intervalMs: 150, code: 'KND_DISK_NONE' },
    );
  } catch (thrown) {
    if (!(thrown instanceof KindlingError)) throw thrown;
    view.notice('devices', thrown);
  } finally {
    endWait();
  }
  const disks = readDiskFacts(files).filter(({ kind }) => kind === 'disk');
  view.line(
    'devices',
    `disks: ${disks.map(({ name }) => name).join(', ') || 'none'}; network cards: ${
      physicalNics(files)
        .map(({ name }) => name)
        .join(', ') || 'none'
    }`,
  );
  for (const { device, what } of driverless(readPciDevices(files))) {
    view.line(
      'devices',
      `no driver for the ${what} ${device.vendorId}:${device.deviceId} at ${device.address}`,
    );
  }
}

/** Loads drivers for devices that appear later: USB, hot plug, a controller that was slow. For as long as the agent runs. */
export function keepLoadingDrivers(files: MachineFiles, run: Run): void {
  let isBusy = false;
  setInterval(async () => {
    if (isBusy) return;
    isBusy = true;
    await loadDrivers(files, run);
    isBusy = false;
  }, 3000).unref();
}

const BUSES = ['pci', 'usb', 'scsi', 'virtio', 'mmc', 'sdio'];
/** init loaded a driver for everything that was there then, and left a list of it. */
let tried: Set<string> | undefined;

async function loadDrivers(files: MachineFiles, run: Run): Promise<void> {
  tried ??= new Set(files.text('/run/kindling/modaliases')?.split('\n'));
  const aliases = BUSES.flatMap((bus) => {
    const folder = `/sys/bus/${bus}/devices`;
    return files.names(folder).flatMap((name) => files.text(`${folder}/${name}/modalias`) ?? []);
  });
  const fresh = [...new Set(aliases)].filter((alias) => !tried?.has(alias));
  if (fresh.length === 0) return;
  for (const alias of fresh) tried.add(alias);
  await run('modprobe', ['-aqb', ...fresh], { okExitCodes: [0, 1] }).catch(() => {}); // most devices need no driver of ours
}
