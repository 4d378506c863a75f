import type { PciDevice } from '../../protocol/inventory.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { readPciDevices as readInventory } from '../inventory/pci.ts';
import { namesByBytes } from './files-in-order.ts';
import { type PciNames, readPciNames } from './pci-names.ts';

const UNKNOWN = 'unknown';
const DISPLAY = '03';
const PCI_ADDRESS = /^0{0,4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$/i;

/** Every PCI device by the names of vendor, product and class. Without the list of names tink-agent tells of no device at all. */
export function readPciDevices(files: MachineFiles) {
  const names = readPciNames(files);
  return names ? devicesByAddress(files).map((device) => inWords(device, names)) : [];
}

/**
 * Graphics cards that a driver has taken. The Micro-OS has no graphics drivers, so it tells of every display controller: these
 * are the cards that an OS with the drivers would find.
 */
export function readGpus(files: MachineFiles) {
  const names = readPciNames(files);
  if (!names) return [];
  const devices = devicesByAddress(files);
  const hasGraphics = files.names('/sys/class/drm').length > 0;
  const cards = hasGraphics
    ? drivenCards(files).flatMap((address) => devices.filter((device) => device.address === address))
    : devices.filter(({ classCode }) => classCode.startsWith(DISPLAY));
  return cards.map((device) => inWords(device, names));
}

function devicesByAddress(files: MachineFiles): PciDevice[] {
  return readInventory(files).sort((a, b) => (a.address < b.address ? -1 : 1));
}

/** card0, not its connectors (card0-DP-1): …/0000:00:02.0/drm/card0. */
function drivenCards(files: MachineFiles): string[] {
  return namesByBytes(files, '/sys/class/drm')
    .filter((name) => name.startsWith('card') && !name.includes('-'))
    .flatMap((name) => {
      const path = files.resolved(`/sys/class/drm/${name}`) ?? '';
      return path.split('/').findLast((part) => PCI_ADDRESS.test(part)) ?? [];
    });
}

function inWords({ vendorId, deviceId, classCode, driver }: PciDevice, names: PciNames) {
  return {
    vendor: names.vendor(vendorId) ?? UNKNOWN,
    product: names.product(vendorId, deviceId) ?? UNKNOWN,
    class: names.class(classCode.slice(0, 2)) ?? UNKNOWN,
    ...(driver ? { driver } : {}),
  };
}
