/** EFI_GLOBAL_VARIABLE (UEFI 2.10, section 3.3): whose variables Boot####, BootOrder, PK, KEK and SecureBoot are. */
export const EFI_GLOBAL_GUID = '8be4df61-93ca-11d2-aa0d-00e098032b8c';

/** LINUX_EFI_CRASH_GUID: whose variables Linux' crash records are. */
export const LINUX_CRASH_GUID = 'cfc8fc79-be2e-4ddc-97f0-9f98bfe298a0';

/** Where Linux shows the variables (Documentation/filesystems/efivarfs.rst): a file each, attributes and then the value. */
export const EFIVARS = '/sys/firmware/efi/efivars';
const ATTRIBUTES_BYTES = 4;

export function efivarfsFileName(name: string, vendor = EFI_GLOBAL_GUID): string {
  return `${name}-${vendor}`;
}

export function encodeEfivarfsFile(attributes: number, value: Buffer): Buffer {
  const content = Buffer.alloc(ATTRIBUTES_BYTES + value.length);
  content.writeUInt32LE(attributes, 0);
  value.copy(content, ATTRIBUTES_BYTES);
  return content;
}

/** The value in a file of efivarfs. */
export function efivarfsValue(content: Buffer): Buffer {
  return content.subarray(ATTRIBUTES_BYTES);
}

/** Name of the variable of a boot entry (section 3.3): Boot and four capital hexadecimal digits. */
export function bootEntryName(number: number): string {
  return `Boot${number.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** BootOrder, BootNext and BootCurrent: numbers of boot entries, 16 bits each. */
export function encodeEntryNumbers(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 2);
  for (const [index, number] of numbers.entries()) bytes.writeUInt16LE(number, index * 2);
  return bytes;
}

export function decodeEntryNumbers(bytes: Buffer = Buffer.alloc(0)): number[] {
  return Array.from({ length: Math.floor(bytes.length / 2) }, (_, index) => bytes.readUInt16LE(index * 2));
}
