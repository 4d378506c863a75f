import { KindlingError } from '../../protocol/error.ts';
import type { Run } from '../../system/run.ts';
import type { ActionContext } from '../contract/action.ts';
import type { LedgerEntry } from '../process/resources/ledger.ts';
import { readAtaSecurity } from './capabilities.ts';
import type { EraseCapabilities } from './methods.ts';

/** A disk must have a password before it obeys. It is no secret: whoever finds a disk that was left locked should know it. */
const PASSWORD = 'kindling';

/**
 * ATA SECURITY ERASE UNIT. The password is taken off again whatever happens, a cancel and a kill included: a disk that keeps it is locked at
 * its next start.
 */
export async function secureEraseAta(
  device: string,
  ata: EraseCapabilities['ata'],
  { run, log, resources }: Pick<ActionContext, 'run' | 'log' | 'resources'>,
): Promise<void> {
  const password: LedgerEntry = { kind: 'ata-password', device };
  await resources.take(
    password,
    () => hdparm(run, '--security-set-pass', device),
    async () => {
      if (!(await removeOurPassword(device, run)))
        log('warn', `${device} keeps the password «${PASSWORD}» and will be locked at its next start`);
    },
  );
  try {
    const command = ata?.enhanced ? '--security-erase-enhanced' : '--security-erase';
    const { stderr } = await hdparm(run, command, device);
    // A disk that has erased itself has taken the password off.
    if ((await readAtaSecurity(device, run))?.enabled) {
      throw new KindlingError('KND_ERASE_INCOMPLETE', `${device} did not carry out its secure erase`, {
        evidence: { stderr },
      });
    }
  } finally {
    await resources.release(password);
  }
}

/** False if it is still there. */
export async function removeOurPassword(device: string, run: Run): Promise<boolean> {
  if (!(await readAtaSecurity(device, run))?.enabled) return true;
  // Also when the action was canceled.
  const { signal } = new AbortController();
  await hdparm(run, '--security-disable', device, { signal }).catch(() => {});
  return !(await readAtaSecurity(device, run))?.enabled;
}

/** Opens a disk that an erase of ours left locked when the power went; false if the password is somebody else's. */
export async function unlockOurs(device: string, run: Run): Promise<boolean> {
  await hdparm(run, '--security-unlock', device).catch(() => {});
  return !(await readAtaSecurity(device, run))?.locked;
}

/** It ends with 0 also where the disk refused: what became of a command shows in the state of the disk. */
function hdparm(run: Run, command: string, device: string, options?: Parameters<Run>[2]) {
  return run('hdparm', ['--user-master', 'u', command, PASSWORD, device], options);
}
