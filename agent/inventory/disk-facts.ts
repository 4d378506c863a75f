import type { Disk, DiskBus, DiskKind } from '../../protocol/inventory.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { diskLinks } from './disk-links.ts';
import { parseSerialPage, parseWwnPage } from './scsi-vital-data.ts';

/** Everything /sys/block tells about a disk; what is on it is read elsewhere. */
export type DiskFacts = Omit<Disk, 'isBootMedium' | 'partitionTable' | 'partitions' | 'signatures'>;

const SECTOR = 512; // the unit of /sys/block/*/size, whatever the disk's sector size

export function readDiskFacts(files: MachineFiles): DiskFacts[] {
  return files
    .names('/sys/block')
    .filter((name) => !isHidden(files, name))
    .map((name) => readOne(files, name));
}

/** One path to an NVMe disk with several (nvme0c1n1): the kernel gives it no device node; the disk itself is nvme0n1. */
function isHidden(files: MachineFiles, name: string): boolean {
  return files.number(`/sys/block/${name}/hidden`) === 1;
}

function readOne(files: MachineFiles, name: string): DiskFacts {
  const folder = `/sys/block/${name}`;
  const devicePath = files.resolved(folder) ?? '';
  const bus = busOf(files, name, devicePath);
  const model = clean(
    files.text(`${folder}/device/model`) ?? (bus === 'mmc' ? files.text(`${folder}/device/name`) : undefined),
  );
  const vendor = clean(files.text(`${folder}/device/vendor`));
  const isVendorText = vendor !== undefined && !/^0x/.test(vendor); // virtio shows a PCI number there
  const serial = serialOf(files, folder, bus) ?? usbSerialOf(files, devicePath);
  const wwn = wwnOf(files, folder);
  const network = networkOf(files, folder, devicePath);
  const identity = {
    ...(model ? { model } : {}),
    ...(isVendorText ? { vendor } : {}),
    ...(serial ? { serial } : {}),
    ...(wwn ? { wwn } : {}),
  };
  return {
    name,
    path: `/dev/${name.replaceAll('!', '/')}`,
    kind: kindOf(files, name),
    bus,
    sizeBytes: (files.number(`${folder}/size`) ?? 0) * SECTOR,
    logicalSectorBytes: files.number(`${folder}/queue/logical_block_size`) ?? SECTOR,
    physicalSectorBytes: files.number(`${folder}/queue/physical_block_size`) ?? SECTOR,
    ...identity,
    isRotational: files.number(`${folder}/queue/rotational`) === 1,
    isRemovable: files.number(`${folder}/removable`) === 1,
    isReadOnly: files.number(`${folder}/ro`) === 1,
    isVirtualMedia: isVirtualMedia(bus, vendor, model),
    ...(network ? { network } : {}),
    links: diskLinks({ name, bus, ...identity, ataPort: ataPortOf(files, devicePath) }, devicePath),
  };
}

const SCSI_CDROM = 5;

function kindOf(files: MachineFiles, name: string): DiskKind {
  if (/^loop\d/.test(name)) return 'loop';
  if (/^ram\d/.test(name)) return 'ram';
  if (/^zram\d/.test(name)) return 'zram';
  if (/^dm-\d/.test(name)) return 'device-mapper';
  if (/^md\d|^md_/.test(name)) return 'md';
  if (/^bcache\d/.test(name)) return 'bcache';
  if (/^mmcblk\d+(boot\d|rpmb)/.test(name)) return 'mmc-boot';
  if (/^fd\d/.test(name)) return 'floppy';
  if (/^nbd\d/.test(name)) return 'nbd';
  if (/^sr\d/.test(name) || files.number(`/sys/block/${name}/device/type`) === SCSI_CDROM) return 'cdrom';
  return 'disk';
}

/** …/0000:00:17.0/ata7/host6/… → …/0000:00:17.0/ata7/ata_port/ata7/port_no: which port of its own controller that is. */
function ataPortOf(files: MachineFiles, devicePath: string): number | undefined {
  const [port, name] = /^.*\/(ata\d+)(?=\/)/.exec(devicePath) ?? [];
  return port === undefined ? undefined : files.number(`${port}/ata_port/${name}/port_no`);
}

/** By the way the device hangs in the tree: …/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda. */
function busOf(files: MachineFiles, name: string, devicePath: string): DiskBus {
  if (name.startsWith('nvme')) return 'nvme';
  if (name.startsWith('mmcblk')) return 'mmc';
  if (name.startsWith('xvd') || /\/vbd-\d+\/block\//.test(devicePath)) return 'xen';
  if (/\/usb\d+\//.test(devicePath)) return 'usb';
  if (/\/virtio\d+\/block\//.test(devicePath)) return 'virtio';
  if (/\/ata\d+\//.test(devicePath)) return isIdeController(files, devicePath) ? 'ide' : 'sata';
  if (/\/end_device-|\/sas_/.test(devicePath)) return 'sas';
  if (/\/host\d+\/target/.test(devicePath)) return 'scsi';
  return 'other';
}

/** libata drives old parallel controllers too; their PCI class is 01 01. */
function isIdeController(files: MachineFiles, devicePath: string): boolean {
  const controller = devicePath.slice(0, devicePath.search(/\/ata\d+\//));
  return (files.number(`${controller}/class`) ?? 0) >> 8 === 0x0101;
}

/** An NVMe disk says it through its controller, or through the subsystem that joins several of them. */
function networkOf(files: MachineFiles, folder: string, devicePath: string): string | undefined {
  const device = `${folder}/device`;
  const controllers = files.names(device).filter((name) => /^nvme\d+$/.test(name));
  const transports = [device, ...controllers.map((name) => `${device}/${name}`)].map((path) =>
    files.text(`${path}/transport`),
  );
  const fabric = transports.find((each) => each !== undefined && NVME_FABRICS.includes(each));
  if (fabric) return fabric;
  if (/\/session\d+\/target/.test(devicePath)) return 'iscsi';
  return /\/rport-\d/.test(devicePath) ? 'fc' : undefined;
}

const NVME_FABRICS = ['tcp', 'rdma', 'fc', 'loop'];

function serialOf(files: MachineFiles, folder: string, bus: DiskBus): string | undefined {
  const plain =
    bus === 'virtio'
      ? files.text(`${folder}/serial`)
      : (files.text(`${folder}/device/serial`) ?? files.text(`${folder}/serial`));
  return clean(plain) ?? parseSerialPage(files.bytes(`${folder}/device/vpd_pg80`));
}

/** A stick often keeps its serial number to its USB device: …/usb2/2-1/2-1:1.0/host0/… → …/usb2/2-1/serial. */
function usbSerialOf(files: MachineFiles, devicePath: string): string | undefined {
  const [, usbDevice] = /^(.*\/usb\d+\/.*?\d+-[\d.]+)\/\d+-[\d.]+:\d+\.\d+\//.exec(devicePath) ?? [];
  return usbDevice === undefined ? undefined : clean(files.text(`${usbDevice}/serial`));
}

/** NVMe says "eui.…" or "nvme.…" itself; SCSI and ATA say "naa.…", or put it in vital data page 0x83. */
function wwnOf(files: MachineFiles, folder: string): string | undefined {
  const told = files.text(`${folder}/wwid`) ?? files.text(`${folder}/device/wwid`);
  if (told && /^(eui|naa|nvme|uuid)\./.test(told)) return told.replaceAll(/\s+/g, ' ');
  return parseWwnPage(files.bytes(`${folder}/device/vpd_pg83`));
}

/** CDs and floppies a BMC pretends to have. A disk of a hypervisor is "virtual" too and yet a proper target. */
function isVirtualMedia(bus: DiskBus, vendor = '', model = ''): boolean {
  const name = `${vendor} ${model}`;
  if (
    /virtual (media|floppy|cd|dvd|hdisk|keydisk|flash|usb)|idrac|ilo virtual|lifecycle|openbmc|linux-bmc/i.test(
      name,
    )
  )
    return true;
  return bus === 'usb' && /virtual|^(ami|aten|ipmi|supermicro|megarac)\b/i.test(name);
}

function clean(text: string | undefined): string | undefined {
  return (
    text
      ?.replaceAll(/[^\x20-\x7e]/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim() || undefined
  );
}
