import { BlockDevice } from '../../actions/disks/block-device.ts';
import type { Operation } from './trace.ts';

/**
 * Records what the work asks of block devices, as of one disk: `startOf` says where on it each of them begins. They are written past the page
 * cache, so a sync of one makes the whole disk write down what it has.
 */
export async function recordBlockDevices(
  startOf: (devicePath: string) => number,
  work: () => Promise<unknown>,
): Promise<Operation[]> {
  const { writeAt, zero, sync } = BlockDevice.prototype;
  const operations: Operation[] = [];
  let event = 0;
  const recorded = async <T>(what: Pick<Operation, 'kind' | 'position' | 'bytes'>, act: () => Promise<T>) => {
    const operation: Operation = { ...what, begin: event++, end: Number.POSITIVE_INFINITY };
    operations.push(operation);
    const result = await act();
    operation.end = event++;
    return result;
  };
  BlockDevice.prototype.writeAt = function (offset, bytes) {
    const position = startOf(this.path) + offset;
    return recorded({ kind: 'write', position, bytes: Buffer.from(bytes) }, () =>
      writeAt.call(this, offset, bytes),
    );
  };
  BlockDevice.prototype.zero = function (offset, length, options) {
    const position = startOf(this.path) + offset;
    return recorded({ kind: 'write', position, bytes: Buffer.alloc(length) }, () =>
      zero.call(this, offset, length, options),
    );
  };
  BlockDevice.prototype.sync = function () {
    return recorded({ kind: 'sync', position: 0, bytes: Buffer.alloc(0) }, () => sync.call(this));
  };
  try {
    await work();
    return operations;
  } finally {
    Object.assign(BlockDevice.prototype, { writeAt, zero, sync });
  }
}
