import type { BlockDevice } from '../disks/block-device.ts';

/** How far the rebuilding of the disk has come; it is on the disk itself, in the last MiB of "reserved", so that it survives a power cut. */
export interface MoveJournal {
  /**
   * copied: a verified copy of the state partition is in "reserved". restored: it is in its new place. With encryption the root follows, and at the
   * end what was copied through "reserved" is cleared: root copied, root restored, done.
   */
  step: 'copied' | 'restored' | 'root copied' | 'root restored' | 'done';
  /** Of what is in "reserved" now. */
  bytes: number;
  sha256: string;
  /** Where the state partition was; what is left there can be read until it is cleared. */
  oldStartBytes?: number;
  /** How much of "reserved" has held readable copies. */
  usedBytes?: number;
  /** Which keys the disk is encrypted with. */
  keyId?: string;
}

const MAGIC = 'KINDLING-MOVE-1 ';
const SLOT = 4096;

export async function readJournal(
  device: BlockDevice,
  reserved: { startBytes: number; sizeBytes: number },
): Promise<MoveJournal | undefined> {
  const block = await device.readAt(slotOf(reserved), SLOT);
  const text = block.toString('latin1');
  if (!text.startsWith(MAGIC)) return undefined;
  try {
    return JSON.parse(text.slice(MAGIC.length).split('\0')[0] ?? '') as MoveJournal;
  } catch {
    return undefined;
  }
}

export async function writeJournal(
  device: BlockDevice,
  reserved: { startBytes: number; sizeBytes: number },
  journal: MoveJournal,
): Promise<void> {
  await device.sync();
  const block = Buffer.alloc(SLOT);
  block.write(MAGIC + JSON.stringify(journal), 'latin1');
  await device.writeAt(slotOf(reserved), block);
  await device.sync();
}

const slotOf = ({ startBytes, sizeBytes }: { startBytes: number; sizeBytes: number }) =>
  startBytes + sizeBytes - 2 ** 20;
