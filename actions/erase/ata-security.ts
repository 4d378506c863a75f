import type { Run } from '../../agent/system/run.ts';
import type { Disk } from '../../protocol/inventory.ts';
import type { EraseCapabilities } from './methods.ts';

/** A disk must have a password before it obeys. It is no secret: whoever finds a disk that was left locked should know it. */
const PASSWORD = 'kindling';

type AtaDisk = Pick<Disk, 'path'>;

/** ATA SECURITY ERASE UNIT. The password is taken off again whatever happens, a cancel included: a disk that keeps it is locked at its next start. */
export async function secureEraseAta(disk: AtaDisk, ata: EraseCapabilities['ata'], run: Run): Promise<void> {
  await hdparm(run, '--security-set-pass', disk);
  try {
    await hdparm(run, ata?.enhanced ? '--security-erase-enhanced' : '--security-erase', disk);
  } finally {
    await hdparm(run, '--security-disable', disk, {
      okExitCodes: [0, 1, 5, 22],
      signal: new AbortController().signal,
    }).catch(() => {});
  }
}

/** Opens a disk that an erase of ours left locked when the power went; false if the password is somebody else's. */
export function unlockOurs(disk: AtaDisk, run: Run): Promise<boolean> {
  return hdparm(run, '--security-unlock', disk).then(
    () => true,
    () => false,
  );
}

function hdparm(run: Run, command: string, { path }: AtaDisk, options?: Parameters<Run>[2]) {
  return run('hdparm', ['--user-master', 'u', command, PASSWORD, path], options);
}
