import type { MachineFiles } from '../../system/machine-files.ts';

const FOLDER = '/sys/firmware/devicetree/base';

/** Boards without SMBIOS (most ARM boards) describe themselves here. */
export function hasDeviceTree(files: MachineFiles): boolean {
  return files.names(FOLDER).length > 0;
}

export function deviceTreeText(files: MachineFiles, name: string): string | undefined {
  return files
    .bytes(`${FOLDER}/${name}`)
    ?.toString('utf8')
    .replace(/^\0+|\0+$/g, '')
    .trim();
}

/** Texts of a property, each ended by a zero byte: most specific first. */
export function deviceTreeList(files: MachineFiles, name: string): string[] {
  return (files.bytes(`${FOLDER}/${name}`)?.toString('utf8') ?? '')
    .split('\0')
    .map((item) => item.trim())
    .filter(Boolean);
}
