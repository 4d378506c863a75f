import type { MachineFiles } from '../../system/machine-files.ts';
import { parseBaseboard } from './smbios/baseboard.ts';
import { parseBiosInformation } from './smbios/bios-information.ts';
import { parseChassis } from './smbios/chassis.ts';
import { parseSystemInformation } from './smbios/system-information.ts';
import { parseSmbiosTable, type SmbiosStructure } from './smbios/table.ts';
import { parseSmbiosVersion } from './smbios/version.ts';

/** What the firmware says about the machine, as it says it: nothing is judged here. */
export interface FirmwareTells {
  uuid?: string | undefined;
  serial?: string | undefined;
  boardSerial?: string | undefined;
  chassisSerial?: string | undefined;
  manufacturer?: string | undefined;
  product?: string | undefined;
  biosVendor?: string | undefined;
  biosVersion?: string | undefined;
  biosDate?: string | undefined;
}

/** From /sys/class/dmi/id, and from the raw table where that is silent (some kernels hide serials, some lack the class). */
export function readFirmwareTells(files: MachineFiles): FirmwareTells {
  const dmi = (name: string) => files.text(`/sys/class/dmi/id/${name}`);
  const structures = readSmbios(files);
  const first = (type: number) => structures.find((structure) => structure.type === type);
  const version = parseSmbiosVersion(
    files.bytes('/sys/firmware/dmi/tables/smbios_entry_point') ?? Buffer.alloc(0),
  );
  const [bios, system, board, chassis] = [first(0), first(1), first(2), first(3)];
  const biosRaw = bios && parseBiosInformation(bios);
  const systemRaw = system && parseSystemInformation(system, version);
  return {
    uuid: (dmi('product_uuid') ?? systemRaw?.uuid)?.toLowerCase(),
    serial: dmi('product_serial') ?? systemRaw?.serial,
    boardSerial: dmi('board_serial') ?? (board && parseBaseboard(board).serial),
    chassisSerial: dmi('chassis_serial') ?? (chassis && parseChassis(chassis).serial),
    manufacturer: dmi('sys_vendor') ?? systemRaw?.manufacturer,
    product: dmi('product_name') ?? systemRaw?.product,
    biosVendor: dmi('bios_vendor') ?? biosRaw?.vendor,
    biosVersion: dmi('bios_version') ?? biosRaw?.version,
    biosDate: dmi('bios_date') ?? biosRaw?.releaseDate,
  };
}

export function readSmbios(files: MachineFiles): SmbiosStructure[] {
  return parseSmbiosTable(files.bytes('/sys/firmware/dmi/tables/DMI') ?? Buffer.alloc(0));
}
