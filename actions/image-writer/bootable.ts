import { openingStages, type Piece, shuttingStages } from '../../formats/partition-table/doors.ts';
import { moveBackupGpt } from '../../formats/partition-table/gpt-backup.ts';
import {
  ALIGNMENT,
  syncTarget,
  type Target,
  tryReadRange,
  writeBuffered,
  writeSectors,
  writeZeros,
} from './target/target.ts';
import { HEAD_BYTES, type WithheldParts } from './target/withheld.ts';

/**
 * From here on nothing on this disk boots: first the sectors by which a system is found go, LBA 0 before the others, while all that
 * they lead to is as it was; then the rest of the first and of the last MiB. `keepUntil` spares what a delta keeps at the end of the disk.
 */
export function makeUnbootable(target: Target, keepUntil = 0): void {
  const read = (position: number, length: number) =>
    tryReadRange(target, Buffer.alloc(length), position, length);
  writeStages(target, shuttingStages(target.size, target.sectorSize, read));
  const head = Math.min(HEAD_BYTES, target.size);
  writeZeros(target, 0, head);
  const tail = Math.max(head, target.size - HEAD_BYTES, keepUntil);
  const start = Math.ceil(tail / ALIGNMENT) * ALIGNMENT;
  if (start < target.size) writeZeros(target, start, target.size - start);
  syncTarget(target);
}

/**
 * Everything is verified: now the disk gets what was withheld, the sectors by which it is found last. Each of them is written when all
 * that it leads to is on the medium, so firmware that finds a system finds all of it. Answers whether the backup table moved.
 */
export function makeBootable(
  target: Target,
  { head, tail, tailAt }: WithheldParts,
  moveBackup: boolean,
): boolean {
  const moved = moveBackup ? moveBackupGpt(head, target.size, target.sectorSize) : undefined;
  // what comes later wins: a table that moves takes the place of what the image has there
  const pieces: Piece[] = [
    { position: 0, bytes: moved?.head ?? head },
    { position: tailAt, bytes: tail },
    ...(moved ? [moved.backup] : []),
  ];
  writeStages(target, openingStages(pieces, target.size, target.sectorSize));
  return moved !== undefined;
}

function writeStages(target: Target, stages: readonly Piece[][]): void {
  for (const stage of stages) {
    for (const { position, bytes } of stage) {
      if (bytes.length === target.sectorSize) writeSectors(target, bytes, position);
      else writeBuffered(target, bytes, position);
    }
    syncTarget(target);
  }
}
