import { KindlingError } from '../../protocol/error.ts';
import type { ActionContext } from '../contract/action.ts';
import {
  OUR_PASSWORD,
  readAtaSecurity,
  removeOurPassword,
  withOurPassword,
} from '../resources/ata-password.ts';
import type { LedgerEntry } from '../resources/ledger.ts';
import type { EraseCapabilities } from './methods.ts';

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
    () => withOurPassword(run, '--security-set-pass', device),
    async () => {
      if (!(await removeOurPassword(device, run)))
        log('warn', `${device} keeps the password "${OUR_PASSWORD}" and will be locked at its next start`);
    },
  );
  try {
    const command = ata?.enhanced ? '--security-erase-enhanced' : '--security-erase';
    const { stderr } = await withOurPassword(run, command, device);
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
