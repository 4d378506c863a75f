import type { PciDevice } from '../../protocol/inventory.ts';
import type { MachineFiles } from '../../system/machine-files.ts';

export function readPciDevices(files: MachineFiles): PciDevice[] {
  return files.names('/sys/bus/pci/devices').map((address) => {
    const folder = `/sys/bus/pci/devices/${address}`;
    const hex = (name: string, digits: number) =>
      (files.number(`${folder}/${name}`) ?? 0).toString(16).padStart(digits, '0');
    const driver = files.linkName(`${folder}/driver`);
    return {
      address,
      vendorId: hex('vendor', 4),
      deviceId: hex('device', 4),
      classCode: hex('class', 6),
      ...(driver ? { driver } : {}),
    };
  });
}

/** Classes where a missing driver means a disk or a network card that nobody sees (PCI code and ID assignment, 1.0 and 2.0). */
const CLASSES_THAT_MATTER: Record<string, string> = {
  '01': 'storage controller',
  '02': 'network card',
};

/** Storage and network devices no driver took: the usual reason for "no disk" and "no network". */
export function driverless(devices: readonly PciDevice[]): { device: PciDevice; what: string }[] {
  return devices.flatMap((device) => {
    const what = CLASSES_THAT_MATTER[device.classCode.slice(0, 2)];
    return what && !device.driver ? [{ device, what }] : [];
  });
}
