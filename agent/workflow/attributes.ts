import type { Disk, Inventory, Nic, PciDevice } from '../../protocol/inventory.ts';
import type { Attributes } from './tink-current.ts';

const SIZE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'];

/** The inventory in the words Tinkerbell's auto-enrollment rules match on (its Go agent takes them from the ghw library). */
export function toAgentAttributes(inventory: Inventory): Attributes {
  const { cpu, memory, disks, nics, pci, firmware, identity } = inventory;
  const found = (field: 'board-serial' | 'chassis-serial') =>
    identity.evidence.find((entry) => entry.field === field)?.value ?? '';
  const sockets = Math.max(1, cpu.sockets);
  return {
    cpu: {
      totalCores: cpu.cores,
      totalThreads: cpu.threads,
      processors: Array.from({ length: sockets }, (_, id) => ({
        id,
        cores: Math.round(cpu.cores / sockets),
        threads: Math.round(cpu.threads / sockets),
        vendor: cpu.vendor ?? '',
        model: cpu.model,
        capabilities: cpu.flags,
      })),
    },
    memory: { total: formatSize(installedBytes(memory)), usable: formatSize(memory.totalBytes) },
    block: disks.filter(({ kind }) => kind === 'disk' || kind === 'cdrom').map(toBlock),
    network: nics.map(toNetwork),
    pci: pci.map(toPci),
    gpu: pci.filter(({ classCode }) => /^(0x)?03/.test(classCode)).map(toPci),
    chassis: { serial: found('chassis-serial'), vendor: identity.manufacturer ?? '' },
    bios: {
      vendor: firmware.vendor ?? '',
      version: firmware.version ?? '',
      releaseDate: firmware.date ?? '',
    },
    baseboard: {
      vendor: identity.manufacturer ?? '',
      product: identity.product ?? '',
      version: '',
      serialNumber: found('board-serial'),
    },
    product: {
      name: identity.product ?? '',
      vendor: identity.manufacturer ?? '',
      serialNumber: identity.serial ?? '',
    },
  };
}

/** ghw's format: rounded up to the largest 1024-based unit below the size; nothing for 0. */
export function formatSize(bytes: number): string {
  if (bytes <= 0) return '';
  const power = Math.min(SIZE_UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${Math.ceil(bytes / 1024 ** power)}${SIZE_UNITS[power]}`;
}

function installedBytes(memory: Inventory['memory']): number {
  const modules = memory.modules.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  return modules > 0 ? modules : memory.totalBytes;
}

function toBlock(disk: Disk) {
  return {
    name: disk.name,
    controllerType: controllerOf(disk.name),
    driveType: disk.kind === 'cdrom' ? 'ODD' : disk.isRotational ? 'HDD' : 'SSD',
    size: formatSize(disk.sizeBytes),
    physicalBlockSize: formatSize(disk.physicalSectorBytes),
    vendor: disk.vendor ?? '',
    model: disk.model ?? '',
    wwn: disk.wwn ?? '',
    serialNumber: disk.serial ?? '',
  };
}

/** ghw goes by the kernel's name, not by the bus: a SATA disk is SCSI there. */
function controllerOf(name: string): string {
  if (name.startsWith('nvme')) return 'NVMe';
  if (name.startsWith('sd') || name.startsWith('sr')) return 'SCSI';
  if (name.startsWith('vd')) return 'virtio';
  if (name.startsWith('mmc')) return 'MMC';
  return name.startsWith('hd') ? 'IDE' : 'unknown';
}

function toNetwork(nic: Nic) {
  return {
    name: nic.name,
    mac: nic.mac,
    speed: nic.speedMbps === undefined ? '' : `${nic.speedMbps}Mb/s`,
    enabledCapabilities: [],
  };
}

function toPci({ vendorId, deviceId, classCode, driver }: PciDevice) {
  return { vendor: vendorId, product: deviceId, class: classCode, driver: driver ?? '' };
}
