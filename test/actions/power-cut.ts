import { BlockDevice } from '../../actions/disks/block-device.ts';

/** Runs work during which the power goes at the n-th write to a block device; tells whether it got through before that. */
export async function withPowerCutAt(write: number, work: () => Promise<unknown>): Promise<boolean> {
  const original = { writeAt: BlockDevice.prototype.writeAt, zero: BlockDevice.prototype.zero };
  let writes = 0;
  const countdown = () => {
    if (++writes === write) throw new Error('the power went');
  };
  BlockDevice.prototype.writeAt = async function (offset, bytes) {
    countdown();
    return original.writeAt.call(this, offset, bytes);
  };
  BlockDevice.prototype.zero = async function (offset, length, options) {
    countdown();
    return original.zero.call(this, offset, length, options);
  };
  try {
    return await work().then(
      () => true,
      () => false,
    );
  } finally {
    Object.assign(BlockDevice.prototype, original);
  }
}
