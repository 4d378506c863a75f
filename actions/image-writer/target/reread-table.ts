import { closeSync, constants, openSync } from 'node:fs';
import { type Run, run as runProgram } from '../../../system/run.ts';
import { waitFor } from '../../../system/wait.ts';
import { native } from './native.ts';

/** linux/fs.h: _IO(0x12, 95) */
const BLKRRPART = 0x125fn;
const EBUSY = 16;
const EINVAL = 22;
const ENOTTY = 25;

/**
 * Makes the kernel read the new partition table. A device that cannot have partitions (a loop device without
 * partscan) answers EINVAL, which is fine; one that is busy for a moment (udev looks at it) is asked again.
 */
export async function rereadPartitionTable(path: string, options: { run?: Run; signal?: AbortSignal } = {}) {
  await waitFor(async () => ((await tryReread(path, options.run ?? runProgram)) ? true : undefined), {
    name: `re-reading the partition table of ${path}`,
    timeoutMs: 15_000,
    code: 'KND_DISK_REREAD',
    ...(options.signal ? { signal: options.signal } : {}),
  });
}

async function tryReread(path: string, run: Run): Promise<boolean> {
  const c = native();
  if (!c) {
    const { exitCode, stderr } = await run('blockdev', ['--rereadpt', path], { okExitCodes: [0, 1] });
    return exitCode === 0 || /invalid argument/i.test(stderr);
  }
  const fd = openSync(path, constants.O_RDONLY);
  try {
    if (c.functions.ioctl(fd, BLKRRPART, 0n) === 0) return true;
    const errno = c.errno();
    if (errno === EINVAL || errno === ENOTTY) return true;
    if (errno === EBUSY) return false;
    throw new Error(`BLKRRPART on ${path} failed with errno ${errno}`);
  } finally {
    closeSync(fd);
  }
}
