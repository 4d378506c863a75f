import type { DiskBus } from '../../protocol/inventory.ts';

interface NamedDisk {
  name: string;
  bus: DiskBus;
  model?: string;
  vendor?: string;
  serial?: string;
  wwn?: string;
}

/**
 * The names udev would make below /dev/disk. The Micro-OS runs no udev, and people select disks by the names they know from
 * the installed system (60-persistent-storage.rules of systemd).
 */
export function diskLinks(disk: NamedDisk, devicePath: string): string[] {
  return [...byId(disk), ...byPath(disk, devicePath)];
}

function byId({ bus, model, vendor, serial, wwn }: NamedDisk): string[] {
  const links: string[] = [];
  const named = serial && model ? `${encode(model)}_${encode(serial)}` : undefined;
  if (bus === 'virtio' && serial) links.push(`by-id/virtio-${encode(serial)}`);
  if (bus === 'nvme' && named) links.push(`by-id/nvme-${named}`);
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

function byPath({ name, bus }: NamedDisk, devicePath: string): string[] {
  const pci = [...devicePath.matchAll(/\/([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])(?=\/)/g)].at(
    -1,
  )?.[1];
  if (!pci) return [];
  const base = `by-path/pci-${pci}`;
  const namespace = /^nvme\d+n(\d+)$/.exec(name)?.[1];
  if (namespace) return [`${base}-nvme-${namespace}`];
  if (bus === 'virtio') return [base];
  const port = /\/ata(\d+)\//.exec(devicePath)?.[1];
  if (port) return [`${base}-ata-${port}`];
  const [, , target, lun] = /\/(\d+):(\d+:\d+):(\d+)\/block\//.exec(devicePath) ?? [];
  if (bus === 'scsi' && target !== undefined && lun !== undefined)
    return [`${base}-scsi-0:${devicePath.match(/\/\d+:(\d+:\d+:\d+)\/block\//)?.[1]}`];
  return [];
}

/** As udev does: what may not stand in a name becomes an underscore. */
function encode(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9#+\-.:=@_]+/g, '_');
}
