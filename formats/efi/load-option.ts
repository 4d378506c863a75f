import { type DevicePathNode, decodeDevicePath, encodeDevicePath } from './device-path.ts';

/** EFI_LOAD_OPTION, the content of a Boot#### variable (UEFI 2.10, section 3.1.3). */
export interface LoadOption {
  /** Bit 0: active. Bit 3: hidden. Bits 12:8: category. */
  attributes: number;
  description: string;
  devicePath: DevicePathNode[];
  optionalData: Buffer;
}

export const ACTIVE = 1;
const FIELDS = { attributes: 0, pathBytes: 4, description: 6 } as const;

export function decodeLoadOption(bytes: Buffer): LoadOption | undefined {
  if (bytes.length < FIELDS.description + 2) return undefined;
  const pathBytes = bytes.readUInt16LE(FIELDS.pathBytes);
  let end = FIELDS.description;
  while (end + 2 <= bytes.length && bytes.readUInt16LE(end) !== 0) end += 2;
  const pathStart = end + 2;
  if (pathStart + pathBytes > bytes.length) return undefined;
  return {
    attributes: bytes.readUInt32LE(FIELDS.attributes),
    description: bytes.subarray(FIELDS.description, end).toString('utf16le'),
    devicePath: decodeDevicePath(bytes.subarray(pathStart, pathStart + pathBytes)),
    optionalData: Buffer.from(bytes.subarray(pathStart + pathBytes)),
  };
}

export function encodeLoadOption({ attributes, description, devicePath, optionalData }: LoadOption): Buffer {
  const path = encodeDevicePath(devicePath);
  const head = Buffer.alloc(FIELDS.description);
  head.writeUInt32LE(attributes, FIELDS.attributes);
  head.writeUInt16LE(path.length, FIELDS.pathBytes);
  return Buffer.concat([head, Buffer.from(`${description}\0`, 'utf16le'), path, optionalData]);
}
