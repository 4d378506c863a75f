import { join } from 'node:path';
import type { MachineSpec } from '../lab/qemu/machine-spec.ts';
import type { Bridge } from '../lab/qemu/network.ts';
import type { DemoOptions } from './demo-options.ts';

/** One virtual node of the demo: what it is known by before it exists. */
export interface DemoNode {
  name: string;
  mac: string;
  /** Last part of the address that the site's DHCP server keeps for it. */
  host: number;
  serial: string;
  uuid: string;
}

const FIRST_HOST = 10;
/** OVMF tries PXE before HTTP; these switch it off (OvmfPkg/README). */
const WITHOUT_PXE = ['IPv4PXESupport', 'IPv6PXESupport'].map((name) => ({
  name: `opt/org.tianocore/${name}`,
  string: 'no',
}));

/** What the machines of a site share. */
export interface Surroundings {
  bridge: Bridge;
  /** What a technician has put into their firmware. */
  keysFolder: string;
  /** Variable store with the site's Secure Boot keys; undefined: none are enrolled. */
  enrolled: string | undefined;
}

export function describeNodes(count: number): DemoNode[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `node-${index + 1}`,
    mac: `52:54:00:6b:0d:${(index + 1).toString(16).padStart(2, '0')}`,
    host: FIRST_HOST + index,
    serial: `KNDDEMO${index + 1}`,
    uuid: crypto.randomUUID(),
  }));
}

/** An edge box with an empty disk that looks for something to boot: disk first, then network. */
export function machineOf(
  node: DemoNode,
  { bridge, keysFolder, enrolled }: Surroundings,
  options: DemoOptions,
): MachineSpec {
  const isBios = options.firmware === 'seabios';
  return {
    name: node.name,
    firmware: options.firmware,
    ...(enrolled === undefined ? {} : { efiVariables: { file: enrolled } }),
    ...(options.isHttpsBoot
      ? {
          firmwareConfig: [
            ...WITHOUT_PXE,
            { name: 'etc/edk2/https/cacerts', file: join(keysFolder, 'tls-ca.esl') },
          ],
        }
      : {}),
    ...(isBios ? { chipset: 'pc' as const, serialFirmware: true } : {}),
    memoryMb: options.memoryMb,
    cpus: options.nodes === 1 ? 2 : 1,
    disks: [
      {
        bus: 'nvme',
        // Two slots of four GiB and what belongs to them; a file with holes, so the host gives only what is written.
        size: options.isImmutable ? '32G' : '2G',
        serial: `${node.serial}DISK`,
        ...(isBios ? { bootIndex: 1 } : {}),
      },
    ],
    nics: [
      {
        model: 'virtio',
        mac: node.mac,
        network: bridge,
        ...(isBios ? { bootIndex: 2, optionRom: true } : {}),
      },
    ],
    smbios: {
      manufacturer: 'Kindling',
      product: 'Virtual Edge Node',
      serial: node.serial,
      uuid: node.uuid,
    },
  };
}
