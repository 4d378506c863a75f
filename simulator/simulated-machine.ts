import { createHash } from 'node:crypto';
import { toNodeId } from '../protocol/ids.ts';
import type { Inventory } from '../protocol/inventory.ts';

/** A machine that does not exist. Its number decides everything about it, so that a second run meets the same machines. */
export interface SimulatedMachine {
  name: string;
  uuid: string;
  serial: string;
  mac: string;
  /** Switch and port. */
  place: string;
}

const PORTS_PER_SWITCH = 48;
const GIB = 2 ** 30;

export function simulatedMachine(number: number): SimulatedMachine {
  const hash = createHash('sha256').update(`machine ${number}`).digest('hex');
  const port = (number % PORTS_PER_SWITCH) + 1;
  return {
    name: `sim-${String(number + 1).padStart(3, '0')}`,
    // RFC 9562, version 8: made up by the program that uses it
    uuid: `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`,
    serial: `SIM${hash.slice(32, 40).toUpperCase()}`,
    // 02: an address that no maker has given out
    mac: `02:${hash.slice(40, 50).match(/../g)?.join(':') ?? ''}`,
    place: `sw${Math.floor(number / PORTS_PER_SWITCH) + 1}/${String(port).padStart(2, '0')}`,
  };
}

/** What its agent would find in it. */
export function simulatedInventory({ uuid, serial, mac }: SimulatedMachine): Inventory {
  return {
    identity: {
      uuid,
      serial,
      manufacturer: 'Kindling',
      product: 'Simulated machine',
      macs: [mac],
      bootMac: mac,
      nodeId: toNodeId(`node-${uuid}`),
      evidence: [],
    },
    cpu: { model: 'Simulated', architecture: 'x86_64', sockets: 1, cores: 4, threads: 8, flags: [] },
    memory: { totalBytes: 16 * GIB, modules: [{ sizeBytes: 16 * GIB, type: 'DDR4' }] },
    disks: [
      {
        name: 'nvme0n1',
        path: '/dev/nvme0n1',
        kind: 'disk',
        bus: 'nvme',
        sizeBytes: 256 * GIB,
        logicalSectorBytes: 512,
        physicalSectorBytes: 512,
        model: 'Simulated NVMe',
        serial: `${serial}-D1`,
        isRotational: false,
        isRemovable: false,
        isReadOnly: false,
        isVirtualMedia: false,
        isBootMedium: false,
        links: [],
        partitions: [],
        signatures: [],
      },
    ],
    nics: [{ name: 'eth0', mac, hasLink: true, speedMbps: 1000, mtu: 1500, addresses: [], isBootNic: true }],
    pci: [],
    firmware: { kind: 'uefi', secureBoot: 'off' },
  };
}
