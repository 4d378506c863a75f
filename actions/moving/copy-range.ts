import { createHash } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';
import type { BlockDevice } from '../disks/block-device.ts';

const PIECE = 4 * 2 ** 20;

export interface CopyContext {
  signal: AbortSignal;
  onProgress(stage: string, percent: number): void;
}

interface Place {
  device: BlockDevice;
  offset: number;
}

/** Copies bytes between devices (or places of one that do not overlap); gives the SHA-256 of what was read. */
export async function copyRange(
  from: Place,
  to: Place,
  length: number,
  stage: string,
  { signal, onProgress }: CopyContext,
): Promise<string> {
  const hash = createHash('sha256');
  for (let done = 0; done < length; done += PIECE) {
    signal.throwIfAborted();
    const piece = await from.device.readAt(from.offset + done, Math.min(PIECE, length - done));
    hash.update(piece);
    await to.device.writeAt(to.offset + done, piece);
    onProgress(stage, (done / length) * 100);
  }
  return hash.digest('hex');
}

/** The SHA-256 of what is there, read past the page cache. */
export async function hashRange(
  { device, offset }: Place,
  length: number,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash('sha256');
  for (let done = 0; done < length; done += PIECE) {
    signal.throwIfAborted();
    hash.update(await device.readAt(offset + done, Math.min(PIECE, length - done)));
  }
  return hash.digest('hex');
}

export function notWhatWasCopied(devicePath: string): KindlingError {
  return new KindlingError('KND_DISK_IO', `${devicePath} did not give back what was copied to it`);
}
