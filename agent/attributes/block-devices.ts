import type { DiskBus } from '../../protocol/inventory.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { type DiskFacts, readDiskFacts } from '../inventory/disk-facts.ts';
import { content, namesByBytes } from './files-in-order.ts';
import { formatSize } from './size.ts';

const SECTOR = 512;
const UNKNOWN = 'unknown';

/** Kernel names by their beginning: ghw goes by these, not by the bus, so a SATA disk is SCSI. Others are not told. */
const KINDS: readonly { prefix: string; controllerType: string; driveType: string }[] = [
  { prefix: 'sd', controllerType: 'SCSI', driveType: 'HDD' },
  { prefix: 'hd', controllerType: 'IDE', driveType: 'HDD' },
  { prefix: 'vd', controllerType: 'virtio', driveType: 'HDD' },
  { prefix: 'nvme', controllerType: 'NVMe', driveType: 'SSD' },
  { prefix: 'sr', controllerType: 'SCSI', driveType: 'ODD' },
  { prefix: 'xvd', controllerType: 'SCSI', driveType: 'HDD' },
  { prefix: 'mmc', controllerType: 'MMC', driveType: 'SSD' },
];

/** A drive without a medium is one, too. */
export function readBlockDevices(files: MachineFiles) {
  const facts = new Map(readDiskFacts(files).map((disk) => [disk.name, disk]));
  return namesByBytes(files, '/sys/block').flatMap((name) => {
    const kind = KINDS.find(({ prefix }) => name.startsWith(prefix));
    if (!kind) return [];
    const folder = `/sys/block/${name}`;
    const isFlash = kind.driveType === 'HDD' && files.number(`${folder}/queue/rotational`) !== 1;
    return [
      {
        name,
        controllerType: kind.controllerType,
        driveType: isFlash ? 'SSD' : kind.driveType,
        size: formatSize((files.number(`${folder}/size`) ?? 0) * SECTOR),
        physicalBlockSize: formatSize(files.number(`${folder}/queue/physical_block_size`) ?? 0),
        vendor: content(files, `${folder}/device/vendor`) ?? UNKNOWN,
        ...(udevWords(files, folder) ?? inUdevsWords(facts.get(name))),
      },
    ];
  });
}

/** The record that udev keeps of a device, where udev runs. */
function udevWords(files: MachineFiles, folder: string) {
  const record = files.bytes(`/run/udev/data/b${content(files, `${folder}/dev`)}`)?.toString('utf8');
  if (record === undefined) return undefined;
  const fields = new Map(
    [...record.matchAll(/^E:([^=\n]*)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  const first = (...names: string[]) =>
    names.map((name) => fields.get(name)).find((value) => value !== undefined) ?? UNKNOWN;
  return {
    model: first('ID_MODEL'),
    wwn: first('ID_WWN_WITH_EXTENSION', 'ID_WWN', 'DM_WWN'),
    serialNumber: first('SCSI_IDENT_SERIAL', 'ID_SCSI_SERIAL', 'ID_SERIAL_SHORT', 'ID_SERIAL'),
  };
}

/** What udev would write, in the Micro-OS, which has none: a rule must not depend on that. */
function inUdevsWords(disk: DiskFacts | undefined) {
  return {
    model: (disk?.model && MODELS[disk.bus]?.(disk.model)) ?? UNKNOWN,
    wwn: disk?.wwn?.replace(/^naa\./, '0x') ?? UNKNOWN,
    serialNumber: disk?.serial?.replaceAll(' ', '_') ?? UNKNOWN,
  };
}

const underscored = (model: string) => model.replaceAll(' ', '_');
/** 60-persistent-storage.rules of systemd: ata_id and scsi_id write no spaces; NVMe keeps them; virtio and MMC have no model. */
const MODELS: Partial<Record<DiskBus, (model: string) => string>> = {
  nvme: (model) => model,
  sata: underscored,
  ide: underscored,
  scsi: underscored,
  sas: underscored,
  usb: underscored,
};
