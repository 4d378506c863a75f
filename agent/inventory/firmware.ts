import type { Firmware, Tpm } from '../../protocol/inventory.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { readFirmwareTells } from '../identity/firmware-tells.ts';
import { readEfiVariable } from './efi-variables.ts';

export function readFirmware(files: MachineFiles): Firmware {
  const { biosVendor, biosVersion, biosDate } = readFirmwareTells(files);
  const isUefi = files.names('/sys/firmware/efi').length > 0;
  return {
    kind: isUefi ? 'uefi' : 'bios',
    ...(biosVendor ? { vendor: biosVendor } : {}),
    ...(biosVersion ? { version: biosVersion } : {}),
    ...(biosDate ? { date: biosDate } : {}),
    secureBoot: readSecureBoot(files),
  };
}

/** UEFI 2.10, section 3.3: SetupMode 1 means no platform key, so nothing is enforced whatever SecureBoot says. */
function readSecureBoot(files: MachineFiles): Firmware['secureBoot'] {
  const secureBoot = readEfiVariable(files, 'SecureBoot')?.at(0);
  if (secureBoot === undefined) return 'unsupported';
  if (readEfiVariable(files, 'SetupMode')?.at(0) === 1) return 'setup-mode';
  return secureBoot === 1 ? 'on' : 'off';
}

export function readTpm(files: MachineFiles): Tpm | undefined {
  const folder = '/sys/class/tpm/tpm0';
  if (files.names(folder).length === 0) return undefined;
  const capabilities = files.text(`${folder}/device/caps`); // only drivers of TPM 1.2 have it
  const manufacturer = /^Manufacturer: 0x([0-9a-f]{8})$/m.exec(capabilities ?? '')?.[1];
  const major = files.number(`${folder}/tpm_version_major`);
  const isOld = major === 1 || (major === undefined && capabilities !== undefined);
  return {
    version: isOld ? '1.2' : '2.0',
    ...(manufacturer
      ? { manufacturer: Buffer.from(manufacturer, 'hex').toString('latin1').replaceAll('\0', '').trim() }
      : {}),
  };
}
