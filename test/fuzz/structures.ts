import { crc32 } from 'node:zlib';
import { HEADER as GPT, headerCrc } from '../../formats/partition-table/gpt-fields.ts';
import { crc32c } from '../../images/unused/crc32c.ts';
import type { FieldEdit } from './structured.ts';

/** A part of an image whose fields are worth lying in. */
export interface Structure {
  at: number;
  length: number;
  /** Puts its checksum right again: without that, a reader stops at the checksum. */
  seal?: (image: Buffer) => void;
}

/** Lies in the fields of a structure, where it lies. Gives what mends it again. */
export function editFields(image: Buffer, { at, length, seal }: Structure, edits: FieldEdit[]): () => void {
  const part = image.subarray(at, at + length);
  const before = Buffer.from(part);
  for (const { at: wanted, width, isBigEndian, value } of edits) {
    const place = Math.floor((wanted % Math.max(1, part.length - width)) / width) * width;
    if (width === 8) {
      if (isBigEndian) part.writeBigUInt64BE(BigInt(value), place);
      else part.writeBigUInt64LE(BigInt(value), place);
    } else if (isBigEndian) part.writeUIntBE(value % 2 ** (8 * width), place, width);
    else part.writeUIntLE(value % 2 ** (8 * width), place, width);
  }
  seal?.(image);
  return () => void before.copy(part);
}

const SECTOR = 512;

/** Both headers of a GPT and its entries; the entries are edited with the header that says their checksum. */
export function gptStructures(image: Buffer): Structure[] {
  const header = image.subarray(SECTOR, 2 * SECTOR);
  const sealHeader = () => {
    const bytes = header.readUInt32LE(GPT.headerBytes);
    if (bytes >= GPT.end && bytes <= SECTOR) header.writeUInt32LE(headerCrc(header), GPT.headerCrc);
  };
  const sealEntries = () => {
    const bytes = header.readUInt32LE(GPT.entryCount) * header.readUInt32LE(GPT.entryBytes);
    header.writeUInt32LE(crc32(image.subarray(2 * SECTOR, 2 * SECTOR + bytes)), GPT.entriesCrc);
    sealHeader();
  };
  return [
    { at: SECTOR, length: GPT.end, seal: sealHeader },
    { at: SECTOR, length: SECTOR + 4 * 128, seal: sealEntries },
    { at: 0, length: SECTOR },
  ];
}

export function ext4Structures(): Structure[] {
  return [
    { at: 1024, length: 0x160 },
    { at: 2048, length: 256 },
  ];
}

export const fatStructures = (): Structure[] => [
  { at: 0, length: 96 },
  { at: SECTOR, length: 2048 },
];

export const XFS = { logBlocks: 96, superblockCrc: 224, headerCrc: 216, treeCrc: 52 } as const;

export function sealXfs(block: Buffer, crcAt: number): void {
  block.writeUInt32LE(0, crcAt);
  block.writeUInt32LE(crc32c(block), crcAt);
}

/** The log of a new file system is empty but for its start; reading all of it would take most of the time. */
export function withSmallLog(image: Buffer): Buffer {
  image.writeUInt32BE(64, XFS.logBlocks);
  sealXfs(image.subarray(0, SECTOR), XFS.superblockCrc);
  return image;
}

/** Superblock, group headers and trees of free extents, each with its CRC-32C. */
export function xfsStructures(image: Buffer): Structure[] {
  const sealed = (at: number, length: number, crcAt: number): Structure => ({
    at,
    length,
    seal: () => sealXfs(image.subarray(at, at + length), crcAt),
  });
  const found = [sealed(0, SECTOR, XFS.superblockCrc)];
  for (let at = 0; at + 4096 <= image.length; at += SECTOR) {
    const magic = image.toString('latin1', at, at + 4);
    if (magic === 'XAGF') found.push(sealed(at, SECTOR, XFS.headerCrc));
    if (magic === 'AB3B') found.push(sealed(at, 4096, XFS.treeCrc));
  }
  return found;
}

const BTRFS_SUPER = 64 * 1024;
const BTRFS_NODE = 16 * 1024;

/** The superblock and every node of a tree, each with its CRC-32C. */
export function btrfsStructures(image: Buffer): Structure[] {
  const sealed = (at: number, length: number): Structure => ({
    at,
    length,
    seal: () => void image.writeUInt32LE(crc32c(image.subarray(at + 32, at + length)), at),
  });
  const uuid = image.subarray(BTRFS_SUPER + 32, BTRFS_SUPER + 48);
  const found = [sealed(BTRFS_SUPER, 4096)];
  for (let at = 2 ** 20; at + BTRFS_NODE <= image.length; at += BTRFS_NODE)
    if (image.subarray(at + 32, at + 48).equals(uuid)) found.push(sealed(at, BTRFS_NODE));
  return found;
}

/** Behind the headers of stream and block, whose checksums stay right: the compressed bytes, and the header of the block. */
export function xzStructures(file: Buffer): Structure[] {
  const block = 12;
  const headerBytes = ((file[block] ?? 0) + 1) * 4;
  return [
    { at: block + headerBytes, length: file.length - block - headerBytes - 12 },
    {
      at: block,
      length: headerBytes,
      seal: () => {
        const end = block + ((file[block] ?? 0) + 1) * 4 - 4;
        if (end + 4 <= file.length) file.writeUInt32LE(crc32(file.subarray(block, end)), end);
      },
    },
  ];
}

/** Behind the header and the mark and CRC of the first block. */
export const bz2Structures = (file: Buffer): Structure[] => [{ at: 14, length: file.length - 24 }];
