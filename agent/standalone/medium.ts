import { type FileHandle, open } from 'node:fs/promises';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import {
  decodePayloadHeader,
  decodeStickKey,
  payloadHeaderBytes,
  STICK_LABELS,
  type StickManifest,
} from '../../protocol/stick.ts';
import { waitFor } from '../../system/wait.ts';

/** The stick that this Micro-OS was started from, its contents known to be what was signed. */
export interface Stick {
  manifest: StickManifest;
  /** The payload partition, open for reading. */
  payload: FileHandle;
  /** Device of the boot partition. */
  bootPath: string | undefined;
  /** Device of the partition for people. */
  peoplePath: string | undefined;
}

const PATIENCE_MS = 30_000;

/** Finds the stick by its id (USB takes a while to come up), and believes its manifest only if the key signed it. */
export async function openStick(
  stickId: string,
  key: string,
  listDisks: () => Promise<Disk[]>,
  signal: AbortSignal,
): Promise<Stick> {
  const publicKey = decodeStickKey(key);
  const disk = await findDisk(stickId, listDisks, signal);
  const payloadPath = partitionOf(disk, STICK_LABELS.payload)?.path;
  if (payloadPath === undefined)
    throw new KindlingError('KND_STICK_INVALID', `${disk.path} has no payload partition`);
  const payload = await open(payloadPath, 'r');
  try {
    const start = await readAt(payload, 0, 4096);
    const header = await readAt(payload, 0, payloadHeaderBytes(start));
    const manifest = decodePayloadHeader(header, publicKey);
    if (manifest.stickId !== stickId) {
      throw new KindlingError(
        'KND_STICK_SIGNATURE',
        `the manifest is that of another stick, ${manifest.stickId}`,
      );
    }
    return {
      manifest,
      payload,
      bootPath: partitionOf(disk, STICK_LABELS.boot)?.path,
      peoplePath: partitionOf(disk, STICK_LABELS.people)?.path,
    };
  } catch (thrown) {
    await payload.close();
    throw thrown;
  }
}

/** Of several Kindling sticks, the one whose boot partition the kernel command line names (kindling.medium=). */
async function findDisk(
  stickId: string,
  listDisks: () => Promise<Disk[]>,
  signal: AbortSignal,
): Promise<Disk> {
  const has = async () =>
    (await listDisks()).find((disk) => disk.isBootMedium && partitionOf(disk, STICK_LABELS.payload));
  return waitFor(has, {
    name: `the installer stick ${stickId}`,
    timeoutMs: PATIENCE_MS,
    intervalMs: 500,
    signal,
    code: 'KND_STICK_NOT_FOUND',
  });
}

function partitionOf(disk: Disk, label: string) {
  return disk.partitions.find(({ partLabel }) => partLabel === label);
}

export async function readAt(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, offset + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}
