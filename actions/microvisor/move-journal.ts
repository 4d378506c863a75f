import type { BlockDevice } from '../disks/block-device.ts';

/** How far the move of the state partition has come; it is on the disk itself, in the last MiB of «reserved», so that it survives a power cut. */
export interface MoveJournal {
  /** copied: a verified copy is in «reserved». restored: it is in its new place. */
  step: 'copied' | 'restored';
  bytes: number;
  sha256: string;
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
