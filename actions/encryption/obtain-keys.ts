import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { identityOf } from '../disks/disk-identity.ts';
import { readJournal } from '../moving/move-journal.ts';
import { type DiskKeys, diskKeysOf, newDiskKeys } from './disk-keys.ts';
import { type EscrowRequest, escrowRecoveryKey } from './escrow.ts';
import { layOutKeys } from './key-files.ts';
import type { VolumeKeys } from './luks.ts';
import { sealInTpm, unsealFromTpm } from './tpm.ts';

export interface EncryptVariables extends EscrowRequest {
  LVM_SIZE: number;
  FDE_PCRS: string;
}

/**
 * The keys of the disk: new ones, or, where an earlier run has begun (its journal is in "reserved"), that run's, from the TPM. When this
 * resolves the recovery key is in safe hands and the TPM has the other: nothing was encrypted before.
 */
export async function obtainKeys(
  disk: Disk,
  reserved: { startBytes: number; sizeBytes: number } | undefined,
  variables: EncryptVariables,
  context: Pick<ActionContext, 'run' | 'signal' | 'log' | 'resources'>,
): Promise<{ keys: DiskKeys; keyFiles: VolumeKeys }> {
  const pcrs = variables.FDE_PCRS;
  const keys = reserved ? await keysOfEarlierRun(disk, reserved, pcrs, context) : newDiskKeys();
  await escrowRecoveryKey(variables, keys, identityOf(disk), context.signal);
  if (variables.KINDLING_ESCROW_URL) context.log('info', `recovery key ${keys.keyId} is in escrow`);
  await sealInTpm(context, keys.diskKey, pcrs);
  return { keys, keyFiles: { ...(await layOutKeys(context, keys)), keyId: keys.keyId, pcrs } };
}

async function keysOfEarlierRun(
  disk: Disk,
  reserved: { startBytes: number; sizeBytes: number },
  pcrs: string,
  context: Pick<ActionContext, 'run'>,
): Promise<DiskKeys> {
  await using device = await BlockDevice.open(disk.path);
  const journal = await readJournal(device, reserved);
  const keys = diskKeysOf(await unsealFromTpm(context, pcrs));
  if (journal?.keyId === keys.keyId) return keys;
  throw new KindlingError(
    'KND_TPM_KEY_LOST',
    `${disk.path} was encrypted with key ${journal?.keyId ?? 'unknown'}, the TPM holds ${keys.keyId}`,
  );
}
