import { readFileSync } from 'node:fs';
import { KindlingError } from '../../protocol/error.ts';
import { physicalNics } from '../identity/mac-addresses.ts';
import { readDiskFacts } from '../inventory/disk-facts.ts';
import { driverless, readPciDevices } from '../inventory/pci.ts';
import type { MachineFiles } from '../system/machine-files.ts';
import type { Run } from '../system/run.ts';
import { waitFor } from '../system/wait.ts';
import type { View } from './console/view.ts';

/** Disks on SAS controllers and USB take seconds to show up; one that takes longer is found later, by whoever needs it. */
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

const tried = new Set<string>();

/** init loaded a driver for everything that was there then; this is for what has appeared since (USB, hot plug). */
async function loadDrivers(files: MachineFiles, run: Run): Promise<void> {
  if (tried.size === 0) for (const alias of readLines('/run/kindling/modaliases')) tried.add(alias);
  const buses = ['pci', 'usb', 'scsi', 'virtio', 'platform', 'mmc', 'sdio'];
  const aliases = buses.flatMap((bus) =>
    files
      .names(`/sys/bus/${bus}/devices`)
      .map((name) => files.text(`/sys/bus/${bus}/devices/${name}/modalias`)),
  );
  const fresh = [...new Set(aliases)].filter((alias) => alias !== undefined && !tried.has(alias)) as string[];
  if (fresh.length === 0) return;
  for (const alias of fresh) tried.add(alias);
  await run('modprobe', ['-aqb', ...fresh], { okExitCodes: [0, 1] }).catch(() => {}); // most devices need no driver of ours
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}
