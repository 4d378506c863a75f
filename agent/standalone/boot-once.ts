import { open } from 'node:fs/promises';
import { KindlingError } from '../../protocol/error.ts';

/*
 * Syslinux keeps two copies of an "auxiliary data vector" in the last 1024 bytes of ldlinux.sys. A command in it is run
 * at the next start instead of the menu's default, and syslinux removes it first: the one after is a normal start again.
 * Only BIOS machines start the stick by syslinux; under UEFI the firmware's own BootNext does the same.
 *
 *   offset  bytes
 *        0      4  magic, little-endian: 0x5a2d2fa5
 *        4      4  checksum: 0xa3041767 less all the words of the data
 *        8    500  data: tag, length, value; tag 1 is the command
 *      508      4  magic: 0xdd28bf64
 */
const VECTOR_BYTES = 512;
const OFFSET = { checksum: 4, data: 8, end: 508 } as const;
const HEAD_MAGIC = 0x5a2d2fa5;
const SUM_MAGIC = 0xa3041767;
const TAIL_MAGIC = 0xdd28bf64;
const BOOT_ONCE_TAG = 1;
const MAX_COMMAND_BYTES = 255;

export function encodeBootOnce(command: string): Buffer {
  const text = Buffer.from(command);
  if (text.length > MAX_COMMAND_BYTES) {
    throw new KindlingError('KND_UNEXPECTED', `a boot-once command of ${text.length} bytes is too long`);
  }
  const vector = Buffer.alloc(VECTOR_BYTES);
  vector.writeUInt32LE(HEAD_MAGIC, 0);
  vector[OFFSET.data] = BOOT_ONCE_TAG;
  vector[OFFSET.data + 1] = text.length;
  text.copy(vector, OFFSET.data + 2);
  vector.writeUInt32LE((SUM_MAGIC - sumOf(vector)) >>> 0, OFFSET.checksum);
  vector.writeUInt32LE(TAIL_MAGIC, OFFSET.end);
  return vector;
}

/** The command that stands in a vector, if it is a good one. */
export function decodeBootOnce(vector: Buffer): string | undefined {
  const isGood =
    isVector(vector) && (sumOf(vector) + vector.readUInt32LE(OFFSET.checksum)) >>> 0 === SUM_MAGIC;
  if (!isGood || vector[OFFSET.data] !== BOOT_ONCE_TAG) return undefined;
  const start = OFFSET.data + 2;
  return vector.toString('utf8', start, start + (vector[OFFSET.data + 1] ?? 0));
}

/** Has syslinux, whose ldlinux.sys this is, run a command at the next start. Both copies lie in place: no cluster moves. */
export async function setBootOnce(loader: string, command: string): Promise<void> {
  await using file = await open(loader, 'r+');
  const { size } = await file.stat();
  const at = size - 2 * VECTOR_BYTES;
  const found = Buffer.alloc(2 * VECTOR_BYTES);
  if (at >= 0) await file.read(found, 0, found.length, at);
  const copies = [found.subarray(0, VECTOR_BYTES), found.subarray(VECTOR_BYTES)];
  if (!copies.every(isVector)) {
    throw new KindlingError('KND_STICK_INVALID', `${loader} has no place for a boot-once command`);
  }
  const vector = encodeBootOnce(command);
  await file.write(Buffer.concat([vector, vector]), 0, found.length, at);
  await file.sync();
}

function isVector(bytes: Buffer): boolean {
  return bytes.readUInt32LE(0) === HEAD_MAGIC && bytes.readUInt32LE(OFFSET.end) === TAIL_MAGIC;
}

function sumOf(vector: Buffer): number {
  let sum = 0;
  for (let at: number = OFFSET.data; at < OFFSET.end; at += 4) sum = (sum + vector.readUInt32LE(at)) >>> 0;
  return sum;
}
