import { networkInterfaces } from 'node:os';
import type { Nic } from '../../protocol/inventory.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { physicalNics } from '../identity/physical-nics.ts';

export function readNics(files: MachineFiles, bootMac: string | undefined): Nic[] {
  const addresses = files.path('/') === '/' ? networkInterfaces() : {};
  return physicalNics(files).map(({ name, mac, permanentMac }) => {
    const folder = `/sys/class/net/${name}`;
    const driver = files.linkName(`${folder}/device/driver`);
    const speed = files.number(`${folder}/speed`); // -1 or an error while there is no link
    const pciAddress =
      /\/([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])(?=\/|$)(?!.*\/[0-9a-f]{4}:[0-9a-f]{2}:)/.exec(
        files.resolved(`${folder}/device`) ?? '',
      )?.[1];
    return {
      name,
      mac,
      ...(permanentMac ? { permanentMac } : {}),
      ...(driver ? { driver } : {}),
      hasLink: files.number(`${folder}/carrier`) === 1,
      ...(speed && speed > 0 ? { speedMbps: speed } : {}),
      mtu: files.number(`${folder}/mtu`) ?? 1500,
      addresses: (addresses[name] ?? []).map(({ cidr, address }) => cidr ?? address),
      ...(pciAddress ? { pciAddress } : {}),
      isBootNic: bootMac !== undefined && (bootMac === mac || bootMac === permanentMac),
    };
  });
}
