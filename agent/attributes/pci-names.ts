import { gunzipSync } from 'node:zlib';
import type { MachineFiles } from '../../system/machine-files.ts';

/** Where distributions keep the list, in the order in which ghw looks. */
const PLACES = [
  '/usr/share/hwdata/pci.ids',
  '/usr/share/misc/pci.ids',
  '/usr/share/hwdata/pci.ids.gz',
  '/usr/share/misc/pci.ids.gz',
];

export interface PciNames {
  /** All three by hexadecimal numbers in lower case, without 0x. */
  vendor(vendorId: string): string | undefined;
  product(vendorId: string, deviceId: string): string | undefined;
  class(baseClass: string): string | undefined;
}

/** The list pci.ids of the PCI ID Project, as far as this system has it. Undefined if it has none. */
export function readPciNames(files: MachineFiles): PciNames | undefined {
  for (const place of PLACES) {
    const bytes = files.bytes(place);
    if (bytes) return parsePciIds((place.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8'));
  }
  return undefined;
}

/**
 * Its lines: `8086  Intel Corporation`, below it `<tab>1533  I210 Gigabit Network Connection`, below that subsystems with two
 * tabs; at the end `C 02  Network controller` and its subclasses.
 */
function parsePciIds(text: string): PciNames {
  const names = new Map<string, string>();
  let above = '';
  for (const line of text.split('\n')) {
    const top = /^(C [0-9a-f]{2}|[0-9a-f]{4}) {2}(.*)$/.exec(line);
    if (top) {
      above = top[1] ?? '';
      names.set(above, top[2] ?? '');
      continue;
    }
    const [, device, name = ''] = /^\t([0-9a-f]{4}) {2}(.*)$/.exec(line) ?? [];
    if (device) names.set(`${above}:${device}`, name);
  }
  return {
    vendor: (vendorId) => names.get(vendorId),
    product: (vendorId, deviceId) => names.get(`${vendorId}:${deviceId}`),
    class: (baseClass) => names.get(`C ${baseClass}`),
  };
}
