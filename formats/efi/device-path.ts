import { guidAt, guidToBytes } from '../guid.ts';

/** One node of a UEFI device path (UEFI 2.10, section 10.3.1): type, subtype, length, data. Kept as bytes unless it is one we use. */
export interface DevicePathNode {
  type: number;
  subtype: number;
  data: Buffer;
}

/** Hard Drive Media Device Path (section 10.3.5.1): how firmware finds a partition, whatever the disk is plugged into. */
export interface HardDriveNode {
  partition: number;
  startLba: bigint;
  sizeLba: bigint;
  /** GPT partition GUID, lower case. */
  partUuid: string;
}

const MEDIA = 4;
const HARD_DRIVE = 1;
const FILE_PATH = 4;
const END = { type: 0x7f, subtype: 0xff, data: Buffer.alloc(0) };
/** Offsets in the data of a hard drive node. */
const HD = {
  partition: 0,
  start: 4,
  size: 12,
  signature: 20,
  format: 36,
  signatureType: 37,
  end: 38,
} as const;
const FORMAT_GPT = 2;
const SIGNATURE_GUID = 2;

/** Reads a device path up to its end node. Throws nothing: a broken length ends it. */
export function decodeDevicePath(bytes: Buffer): DevicePathNode[] {
  const nodes: DevicePathNode[] = [];
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt16LE(at + 2);
    if (length < 4 || at + length > bytes.length) break;
    nodes.push({
      type: bytes.readUInt8(at),
      subtype: bytes.readUInt8(at + 1),
      data: Buffer.from(bytes.subarray(at + 4, at + length)),
    });
    at += length;
  }
  return nodes;
}

export function encodeDevicePath(nodes: readonly DevicePathNode[]): Buffer {
  return Buffer.concat(
    nodes.flatMap(({ type, subtype, data }) => {
      const header = Buffer.from([type, subtype, 0, 0]);
      header.writeUInt16LE(4 + data.length, 2);
      return [header, data];
    }),
  );
}

/** The short form every firmware understands: partition by GUID, file, end. */
export function pathToLoader(drive: HardDriveNode, loader: string): DevicePathNode[] {
  const data = Buffer.alloc(HD.end);
  data.writeUInt32LE(drive.partition, HD.partition);
  data.writeBigUInt64LE(drive.startLba, HD.start);
  data.writeBigUInt64LE(drive.sizeLba, HD.size);
  guidToBytes(drive.partUuid).copy(data, HD.signature);
  data.writeUInt8(FORMAT_GPT, HD.format);
  data.writeUInt8(SIGNATURE_GUID, HD.signatureType);
  return [
    { type: MEDIA, subtype: HARD_DRIVE, data },
    { type: MEDIA, subtype: FILE_PATH, data: Buffer.from(`${loader}\0`, 'utf16le') },
    END,
  ];
}

/** The first partition of the path that has a GUID. */
export function hardDriveOf(nodes: readonly DevicePathNode[]): HardDriveNode | undefined {
  const node = nodes.find(
    ({ type, subtype, data }) =>
      type === MEDIA &&
      subtype === HARD_DRIVE &&
      data.length >= HD.end &&
      data.readUInt8(HD.signatureType) === SIGNATURE_GUID,
  );
  if (!node) return undefined;
  return {
    partition: node.data.readUInt32LE(HD.partition),
    startLba: node.data.readBigUInt64LE(HD.start),
    sizeLba: node.data.readBigUInt64LE(HD.size),
    partUuid: guidAt(node.data, HD.signature),
  };
}

export function fileOf(nodes: readonly DevicePathNode[]): string | undefined {
  const files = nodes.filter(({ type, subtype }) => type === MEDIA && subtype === FILE_PATH);
  if (files.length === 0) return undefined;
  return files.map(({ data }) => data.toString('utf16le').split('\0')[0]).join('');
}
