/** What was asked of a disk, in order. A write that has ended is in the disk's memory; on the medium it is after a sync that began later. */
export interface Operation {
  kind: 'write' | 'sync';
  /** Numbers of the events at which it began and ended; it never ended if the second is Infinity. */
  begin: number;
  end: number;
  position: number;
  bytes: Buffer;
}

/** Reads what record-disk-program.ts has written. */
export function readTrace(record: Buffer): Operation[] {
  const operations: Operation[] = [];
  const open = new Map<string, Operation>();
  let event = 0;
  for (let at = 0; at < record.length; event += 1) {
    const textEnd = at + 4 + record.readUInt32LE(at);
    const {
      event: name,
      id,
      kind,
      position = 0,
      length = 0,
      bytes,
    } = JSON.parse(record.toString('utf8', at + 4, textEnd));
    at = textEnd + bytes;
    if (name === 'end') {
      const operation = open.get(id);
      if (operation) operation.end = event;
      continue;
    }
    const operation: Operation = {
      kind: kind === 'sync' ? 'sync' : 'write',
      begin: event,
      end: Number.POSITIVE_INFINITY,
      position,
      bytes: kind === 'zeros' ? Buffer.alloc(length) : record.subarray(textEnd, at),
    };
    open.set(id, operation);
    operations.push(operation);
  }
  return operations;
}
