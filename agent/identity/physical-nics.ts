import { parseMac } from '../../formats/mac-address.ts';
import type { MachineFiles } from '../../system/machine-files.ts';

const ETHERNET = 1; // ARPHRD_ETHER

export interface PhysicalNic {
  name: string;
  mac: string;
  /** The address burned into the card, if the kernel tells. */
  permanentMac?: string;
}

/** Network cards of the machine: Ethernet with a device behind it; no loopback, bonds, VLANs, bridges, tunnels. */
export function physicalNics(files: MachineFiles): PhysicalNic[] {
  const burnedIn = permanentMacsOfBondMembers(files);
  return files.names('/sys/class/net').flatMap((name) => {
    const folder = `/sys/class/net/${name}`;
    const mac = parseMac(files.text(`${folder}/address`) ?? '');
    if (
      files.number(`${folder}/type`) !== ETHERNET ||
      files.resolved(`${folder}/device`) === undefined ||
      !mac
    )
      return [];
    const isUnchanged = files.number(`${folder}/addr_assign_type`) === 0; // NET_ADDR_PERM
    const permanentMac = burnedIn.get(name) ?? (isUnchanged ? mac : undefined);
    return [{ name, mac, ...(permanentMac ? { permanentMac } : {}) }];
  });
}

/** In a bond all members show the bond's address; the bonding driver remembers the real ones. */
function permanentMacsOfBondMembers(files: MachineFiles): Map<string, string> {
  const found = new Map<string, string>();
  for (const bond of files.names('/proc/net/bonding')) {
    const text = files.text(`/proc/net/bonding/${bond}`) ?? '';
    for (const [, name, address] of text.matchAll(
      /^Slave Interface: (\S+)$[\s\S]*?^Permanent HW addr: (\S+)$/gm,
    )) {
      const mac = parseMac(address ?? '');
      if (name && mac) found.set(name, mac);
    }
  }
  return found;
}

/** The second lowest bit of the first byte: set by software, so maybe not unique, maybe not there after the next boot. */
export function isLocallyAdministered(mac: string): boolean {
  return (Number.parseInt(mac.slice(0, 2), 16) & 0x02) !== 0;
}
