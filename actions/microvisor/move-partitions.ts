import { KindlingError } from '../../protocol/error.ts';
import type { BlockDevice } from '../disks/block-device.ts';
import { writeTable } from '../disks/installed-disk.ts';
import { type CopyContext, copyRange, notWhatWasCopied } from '../moving/copy-range.ts';
import { type MoveJournal, readJournal, writeJournal } from '../moving/move-journal.ts';
import type { MicrovisorLayout } from './layout.ts';

interface TableState {
  diskGuid: string;
  sectorBytes: number;
  isMoved: boolean;
}

/**
 * Brings the disk from the image's layout to the one with two slots. The state partition is copied out, the table is changed, the copy goes
 * to its new place; wherever this stops, a second run goes on from there, because the journal on the disk says how far it was.
 */
export async function moveToLayout(
  device: BlockDevice,
  layout: MicrovisorLayout,
  table: TableState,
  context: CopyContext,
): Promise<void> {
  const { persistent, reserved } = layout;
  const journal = await moveOut(device, layout, table, context);
  if (journal.step !== 'copied') return;
  const from = { device, offset: reserved.startBytes };
  const to = { device, offset: persistent.startBytes };
  const sha256 = await copyRange(from, to, journal.bytes, 'copying the state partition back', context);
  if (sha256 !== journal.sha256) throw notWhatWasCopied(device.path);
  await writeJournal(device, reserved, { ...journal, step: 'restored' });
}

/** The first half: the state partition is in "reserved", and the table is the new one. Gives the journal, which says what is left to do. */
export async function moveOut(
  device: BlockDevice,
  layout: MicrovisorLayout,
  table: TableState,
  context: CopyContext,
  keyId?: string,
): Promise<MoveJournal> {
  const { oldPersistent, reserved } = layout;
  // Before the table has changed, a journal can only be one of an earlier installation on this disk: it says nothing about this one.
  let journal = table.isMoved ? await readJournal(device, reserved) : undefined;
  if (!journal) {
    if (table.isMoved) {
      throw new KindlingError(
        'KND_MOVE_LOST',
        'the disk has the new layout, but nothing says where its state partition is; write the image again',
      );
    }
    const { startBytes, sizeBytes } = oldPersistent;
    const sha256 = await copyRange(
      { device, offset: startBytes },
      { device, offset: reserved.startBytes },
      sizeBytes,
      'copying the state partition out',
      context,
    );
    journal = {
      step: 'copied',
      bytes: sizeBytes,
      sha256,
      oldStartBytes: startBytes,
      usedBytes: sizeBytes,
      ...(keyId ? { keyId } : {}),
    };
    await writeJournal(device, reserved, journal);
  }
  if (!table.isMoved) await writeTable(device, { ...table, partitions: layout.partitions });
  return journal;
}
