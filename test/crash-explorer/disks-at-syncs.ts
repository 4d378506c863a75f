import type { Operation } from './trace.ts';

/** The disk as it is on the medium after each sync, all that differ, in order: what a power cut leaves that comes between two of them. */
export function disksAtSyncs(operations: readonly Operation[], before: Buffer): Buffer[] {
  const disks = [before];
  const disk = Buffer.from(before);
  let done = new Set<Operation>();
  for (const sync of operations.filter(({ kind, end }) => kind === 'sync' && Number.isFinite(end))) {
    const writes = operations.filter(({ kind, end }) => kind === 'write' && end < sync.begin);
    for (const write of writes) if (!done.has(write)) write.bytes.copy(disk, write.position);
    done = new Set(writes);
    if (!disks.at(-1)?.equals(disk)) disks.push(Buffer.from(disk));
  }
  return disks;
}
