import type { DiskBus } from '../../protocol/inventory.ts';

interface NamedDisk {
  name: string;
  bus: DiskBus;
  model?: string;
  vendor?: string;
  serial?: string;
  wwn?: string;
  /** Number of its port, counted by its controller (port_no of the ATA port). The kernel's own "ata7" counts all ports of the machine. */
  ataPort?: number | undefined;
}

/**
 * The names udev would make below /dev/disk. The Micro-OS runs no udev, and people select disks by the names they know from
 * the installed system (60-persistent-storage.rules of systemd).
 */
export function diskLinks(disk: NamedDisk, devicePath: string): string[] {
  return [...byId(disk), ...byPath(disk, devicePath)];
}

function byId({ name, bus, model, vendor, serial, wwn }: NamedDisk): string[] {
  const links: string[] = [];
  const named = serial && model ? `${encode(model)}_${encode(serial)}` : undefined;
  if (bus === 'virtio' && serial) links.push(`by-id/virtio-${encode(serial)}`);
  // The second since systemd 254: the first is the same for every namespace of a controller.
  if (bus === 'nvme' && named)
    links.push(`by-id/nvme-${named}`, ...namespaceOf(name).map((number) => `by-id/nvme-${named}_${number}`));
  if ((bus === 'sata' || bus === 'ide') && named) links.push(`by-id/ata-${named}`);
  if (bus === 'usb' && named) links.push(`by-id/usb-${vendor ? `${encode(vendor)}_` : ''}${named}-0:0`);
  if (bus === 'mmc' && named)
    links.push(`by-id/mmc-${encode(model ?? '')}_0x${encode(serial ?? '').replace(/^0x/, '')}`);
  if (wwn && bus === 'nvme') links.push(`by-id/nvme-${encode(wwn)}`);
  const hex = /^(?:naa|eui)\.([0-9a-f]+)$/.exec(wwn ?? '')?.[1];
  if (hex && bus !== 'nvme')
    links.push(`by-id/wwn-0x${hex}`, ...(bus === 'scsi' || bus === 'sas' ? [`by-id/scsi-3${hex}`] : []));
  return links;
}

function byPath({ name, bus, ataPort }: NamedDisk, devicePath: string): string[] {
  const pci = [...devicePath.matchAll(/\/([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])(?=\/)/g)].at(
    -1,
  )?.[1];
  if (!pci) return [];
  const base = `by-path/pci-${pci}`;
  const [namespace] = namespaceOf(name);
  if (namespace !== undefined) return [`${base}-nvme-${namespace}`];
  if (bus === 'virtio') return [base];
  if (/\/ata\d+\//.test(devicePath)) return ataPort === undefined ? [] : ataPaths(base, ataPort, devicePath);
  const [, , target, lun] = /\/(\d+):(\d+:\d+):(\d+)\/block\//.exec(devicePath) ?? [];
  if (bus === 'scsi' && target !== undefined && lun !== undefined)
    return [`${base}-scsi-0:${devicePath.match(/\/\d+:(\d+:\d+:\d+)\/block\//)?.[1]}`];
  return [];
}

const namespaceOf = (name: string) => /^nvme\d+n(\d+)$/.exec(name)?.slice(1) ?? [];

/** By port and device on it: behind a port multiplier the channel tells, else master (0) and slave (1). Then the name older systems use, which both share. */
function ataPaths(base: string, port: number, devicePath: string): string[] {
  const [, channel = '0', target = '0'] = /\/\d+:(\d+):(\d+):\d+\/block\//.exec(devicePath) ?? [];
  const device = channel === '0' ? target : `${channel}.0`;
  return [`${base}-ata-${port}.${device}`, `${base}-ata-${port}`];
}

/** As udev does: what may not stand in a name becomes an underscore. */
function encode(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9#+\-.:=@_]+/g, '_');
}
