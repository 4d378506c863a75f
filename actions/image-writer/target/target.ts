import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
  writeSync,
} from 'node:fs';
import { KindlingError } from '../../../protocol/error.ts';
import { alignedMemory } from './aligned-memory.ts';
import { native } from './native.ts';

/** What a disk is, found before anything is written. */
export interface TargetFacts {
  path: string;
  size: number;
  sectorSize: number;
  isBlockDevice: boolean;
  /** Whether writes bypass the page cache. */
  isDirect: boolean;
}

/** A disk opened for us alone. The descriptors are shared with the worker threads of this process. */
export interface Target extends TargetFacts {
  /** O_DIRECT where the file system allows: buffers, lengths and positions must be multiples of 4096. */
  fd: number;
  /** Through the page cache: for what is small or not aligned. */
  bufferedFd: number;
  close: () => void;
}

export const ALIGNMENT = 4096;

/** Opens the disk exclusively and finds its size and sector size; a mounted or otherwise used disk is refused. */
export function openTarget(path: string): Target {
  const exclusive = open(path, constants.O_RDWR | constants.O_EXCL, path);
  try {
    const stats = fstatSync(exclusive);
    if (!stats.isBlockDevice() && !stats.isFile()) {
      throw new KindlingError('KND_DISK_UNUSABLE', `${path} is neither a disk nor a file`);
    }
    const facts = stats.isBlockDevice()
      ? blockDeviceFacts(stats, path)
      : { size: stats.size, sectorSize: 512 };
    const direct = openDirect(path);
    return {
      path,
      ...facts,
      isBlockDevice: stats.isBlockDevice(),
      isDirect: direct !== undefined,
      fd: direct ?? open(path, constants.O_RDWR, path),
      bufferedFd: exclusive,
      close() {
        closeSync(this.fd);
        closeSync(exclusive);
      },
    };
  } catch (error) {
    closeSync(exclusive);
    throw error;
  }
}

function open(path: string, flags: number, name: string): number {
  try {
    return openSync(path, flags);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'EBUSY') {
      throw new KindlingError('KND_DISK_BUSY', `${name} is in use (mounted, or part of a volume)`, { cause });
    }
    throw new KindlingError('KND_DISK_UNUSABLE', `${name} cannot be opened for writing (${code})`, { cause });
  }
}

/** tmpfs on older kernels and some network file systems have no O_DIRECT: EINVAL. */
function openDirect(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDWR | constants.O_DIRECT);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EINVAL') return undefined;
    throw error;
  }
}

function blockDeviceFacts(stats: Stats, path: string): { size: number; sectorSize: number } {
  const major = ((stats.rdev >>> 8) & 0xfff) >>> 0;
  const minor = (stats.rdev & 0xff) | ((stats.rdev >>> 12) & 0xfff00);
  const folder = `/sys/dev/block/${major}:${minor}`;
  const read = (name: string) => Number(readFileSync(`${folder}/${name}`, 'utf8'));
  try {
    if (read('ro') === 1) throw new KindlingError('KND_DISK_UNUSABLE', `${path} is write-protected`);
    // sysfs counts in units of 512 bytes whatever the sector size
    return { size: read('size') * 512, sectorSize: read('queue/logical_block_size') };
  } catch (cause) {
    if (cause instanceof KindlingError) throw cause;
    throw new KindlingError('KND_DISK_UNUSABLE', `${path} is not a whole disk the kernel describes`, {
      cause,
    });
  }
}

/** fallocate(2): deallocate and read as zeros, or write zeros; either is a promise of zeros on a block device too. */
const PUNCH_HOLE_KEEP_SIZE = 0x02 | 0x01;
const ZERO_RANGE_KEEP_SIZE = 0x10 | 0x01;

let zeros: Buffer | undefined;

/** Makes a range read as zeros, by the device's own write-zeroes where it has one, else by writing zeros. */
export function writeZeros(target: Target, position: number, length: number): void {
  const c = native();
  const isAligned = position % ALIGNMENT === 0 && length % ALIGNMENT === 0;
  if (c && isAligned) {
    for (const mode of [PUNCH_HOLE_KEEP_SIZE, ZERO_RANGE_KEEP_SIZE]) {
      if (c.functions.fallocate(target.fd, mode, BigInt(position), BigInt(length)) === 0) return;
    }
  }
  zeros ??= alignedMemory(1024 * 1024);
  const fd = isAligned ? target.fd : target.bufferedFd;
  for (let done = 0; done < length; done += zeros.length) {
    writeFully(target, fd, zeros, 0, Math.min(zeros.length, length - done), position + done);
  }
}

/** Writes through the page cache: any length, any position. */
export function writeBuffered(target: Target, bytes: Buffer, position: number): void {
  writeFully(target, target.bufferedFd, bytes, 0, bytes.length, position);
}

/** Whole sectors past the page cache, where the disk can do that: what lies around them is neither read nor written along. */
export function writeSectors(target: Target, bytes: Buffer, position: number): void {
  const memory = alignedMemory(bytes.length);
  bytes.copy(memory);
  try {
    writeFully(target, target.fd, memory, 0, memory.length, position);
  } catch (thrown) {
    const { cause } = thrown as KindlingError;
    if ((cause as NodeJS.ErrnoException).code !== 'EINVAL') throw thrown;
    writeBuffered(target, bytes, position); // a file system whose blocks are longer than these sectors
  }
}

function writeFully(
  target: Target,
  fd: number,
  bytes: Buffer,
  offset: number,
  length: number,
  position: number,
): void {
  try {
    for (let done = 0; done < length; ) {
      done += writeSync(fd, bytes, offset + done, length - done, position + done);
    }
  } catch (cause) {
    throw diskWriteError(target.path, position, cause);
  }
}

export function diskWriteError(path: string, position: number, cause: unknown): KindlingError {
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  const reason = code === 'ENOSPC' ? 'no space left' : code;
  return new KindlingError('KND_DISK_WRITE', `${path}: writing at byte ${position} failed (${reason})`, {
    cause,
  });
}

/** Reads a range; what lies beyond the end is missing from the answer. */
export function readRange(target: Target, into: Buffer, position: number, length: number): Buffer {
  const isAligned = position % ALIGNMENT === 0 && length % ALIGNMENT === 0;
  const fd = isAligned ? target.fd : target.bufferedFd;
  let done = 0;
  while (done < length) {
    const count = readSync(fd, into, done, length - done, position + done);
    if (count === 0) break;
    done += count;
  }
  return into.subarray(0, done);
}

/** The same from a disk that may have places which cannot be read any more: what is there then counts as nothing. */
export function tryReadRange(target: Target, into: Buffer, position: number, length: number): Buffer {
  try {
    return readRange(target, into, position, length);
  } catch {
    return into.subarray(0, 0);
  }
}

/** Everything written is on the medium when this returns, through either descriptor: they are of one disk. */
export function syncTarget(target: Target): void {
  try {
    fsyncSync(target.bufferedFd);
  } catch (cause) {
    throw new KindlingError('KND_DISK_WRITE', `${target.path}: the disk could not flush its writes`, {
      cause,
    });
  }
}
