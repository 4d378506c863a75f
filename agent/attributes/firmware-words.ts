import type { MachineFiles } from '../../system/machine-files.ts';
import { readSmbios } from '../identity/firmware-tells.ts';
import { parseBaseboard } from '../identity/smbios/baseboard.ts';
import { parseBiosInformation } from '../identity/smbios/bios-information.ts';
import { parseChassis } from '../identity/smbios/chassis.ts';
import { parseSystemInformation } from '../identity/smbios/system-information.ts';
import { deviceTreeList, deviceTreeText, hasDeviceTree } from './device-tree.ts';
import { content } from './files-in-order.ts';

const UNKNOWN = 'unknown';
const DMI = '/sys/class/dmi/id';

/**
 * Chassis, BIOS, baseboard and product, each by its own SMBIOS structure and as the firmware wrote it: placeholders are matched
 * by rules, too. A field that the kernel has no file for is unknown; one that is empty stays empty.
 */
export function readFirmwareWords(files: MachineFiles) {
  if (files.names(DMI).length > 0) return fromKernel(files);
  if (readSmbios(files).length > 0) return fromTable(files);
  return hasDeviceTree(files) ? fromDeviceTree(files) : fromKernel(files);
}

function fromKernel(files: MachineFiles) {
  const dmi = (name: string) => content(files, `${DMI}/${name}`) ?? UNKNOWN;
  return {
    chassis: { serial: dmi('chassis_serial'), vendor: dmi('chassis_vendor') },
    bios: { vendor: dmi('bios_vendor'), version: dmi('bios_version'), releaseDate: dmi('bios_date') },
    baseboard: {
      vendor: dmi('board_vendor'),
      product: dmi('board_name'),
      version: dmi('board_version'),
      serialNumber: dmi('board_serial'),
    },
    product: {
      name: dmi('product_name'),
      vendor: dmi('sys_vendor'),
      serialNumber: dmi('product_serial'),
    },
  };
}

/** A kernel without the class dmi may still give the table. tink-agent would know nothing here. */
function fromTable(files: MachineFiles) {
  const structures = readSmbios(files);
  const parse = <T>(type: number, parser: (structure: (typeof structures)[number]) => T) => {
    const structure = structures.find((each) => each.type === type);
    return structure && parser(structure);
  };
  const bios = parse(0, parseBiosInformation);
  const system = parse(1, (structure) => parseSystemInformation(structure, undefined));
  const board = parse(2, parseBaseboard);
  const chassis = parse(3, parseChassis);
  return {
    chassis: { serial: chassis?.serial ?? UNKNOWN, vendor: chassis?.manufacturer ?? UNKNOWN },
    bios: {
      vendor: bios?.vendor ?? UNKNOWN,
      version: bios?.version ?? UNKNOWN,
      releaseDate: bios?.releaseDate ?? UNKNOWN,
    },
    baseboard: {
      vendor: board?.manufacturer ?? UNKNOWN,
      product: board?.product ?? UNKNOWN,
      version: board?.version ?? UNKNOWN,
      serialNumber: board?.serial ?? UNKNOWN,
    },
    product: {
      name: system?.product ?? UNKNOWN,
      vendor: system?.manufacturer ?? UNKNOWN,
      serialNumber: system?.serial ?? UNKNOWN,
    },
  };
}

function fromDeviceTree(files: MachineFiles) {
  const vendor = deviceTreeList(files, 'compatible')[0]?.split(',')[0] || UNKNOWN;
  const model = deviceTreeText(files, 'model') ?? UNKNOWN;
  const serial = deviceTreeText(files, 'serial-number') ?? UNKNOWN;
  const loader = deviceTreeText(files, 'chosen/u-boot,version');
  return {
    chassis: { serial, vendor },
    bios: {
      vendor: loader === undefined ? UNKNOWN : 'U-Boot',
      version: loader ?? UNKNOWN,
      releaseDate: UNKNOWN,
    },
    baseboard: { vendor, product: model, version: UNKNOWN, serialNumber: serial },
    product: { name: model, vendor, serialNumber: serial },
  };
}
