import { createHash } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';
import { encodeGpt } from '../../protocol/partition-table/gpt-encode.ts';
import type { BlockDevice } from '../disks/block-device.ts';
import type { MicrovisorLayout } from './layout.ts';
import { readJournal, writeJournal } from './move-journal.ts';

const PIECE = 4 * 2 ** 20;

interface MoveContext {
  signal: AbortSignal;
  onProgress(stage: string, percent: number): void;
}

/**
 * Brings the disk from the image's layout to the one with two slots. The state partition is copied out, the table is changed, the copy goes
 * to its new place; wherever this stops, a second run goes on from there, because the journal on the disk says how far it was.
 */
export async function moveToLayout(
  device: BlockDevice,
  layout: MicrovisorLayout,
  table: { diskGuid: string; sectorBytes: number; isMoved: boolean },
  context: MoveContext,
): Promise<void> {
  const { oldPersistent, persistent, reserved } = layout;
  // Before the table has changed, a journal can only be one of an earlier installation on this disk: it says nothing about this one.
  let journal = table.isMoved ? await readJournal(device, reserved) : undefined;
  if (!journal) {
    if (table.isMoved) {
      throw new KindlingError(
        'KND_MOVE_LOST',
        'the disk has the new layout, but nothing says where its state partition is; write the image again',
      );
    }
    const sha256 = await copy(
      device,
      oldPersistent.startBytes,
      reserved.startBytes,
      oldPersistent.sizeBytes,
      context,
      'copying the state partition out',
    );
    journal = { step: 'copied', bytes: oldPersistent.sizeBytes, sha256 };
    await writeJournal(device, reserved, journal);
  }
  if (!table.isMoved) {
    const bootCode = await device.readAt(0, 440);
    for (const { offset, bytes } of encodeGpt({
      ...table,
      sizeBytes: device.sizeBytes,
      partitions: layout.partitions,
      bootCode,
    })) {
      await device.writeAt(offset, bytes);
    }
    await device.sync();
  }
  if (journal.step === 'copied') {
    const sha256 = await copy(
      device,
      reserved.startBytes,
      persistent.startBytes,
      journal.bytes,
      context,
      'copying the state partition back',
    );
    if (sha256 !== journal.sha256) {
      throw new KindlingError(
        'KND_DISK_IO',
        `${device.path} did not give the state partition back as it was copied out`,
      );
    }
    await writeJournal(device, reserved, { ...journal, step: 'restored' });
  }
}

async function copy(
  device: BlockDevice,
  from: number,
  to: number,
  length: number,
  { signal, onProgress }: MoveContext,
  stage: string,
): Promise<string> {
  const hash = createHash('sha256');
  for (let done = 0; done < length; done += PIECE) {
    signal.throwIfAborted();
    const piece = await device.readAt(from + done, Math.min(PIECE, length - done));
    hash.update(piece);
    await device.writeAt(to + done, piece);
    onProgress(stage, (done / length) * 100);
  }
  return hash.digest('hex');
}
