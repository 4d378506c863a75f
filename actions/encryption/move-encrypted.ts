import { KindlingError } from '../../protocol/error.ts';
import type { ActionContext } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { type CopyContext, copyRange, hashRange, notWhatWasCopied } from '../moving/copy-range.ts';
import { filesystemBytes } from '../moving/ext4-size.ts';
import { type MoveJournal, readJournal, writeJournal } from '../moving/move-journal.ts';
import { formatLuks, openLuks, type VolumeKeys } from './luks.ts';

export interface Volume {
  device: string;
  /** Below /dev/mapper. */
  name: string;
}

/** The state partition from its copy in "reserved" into an encrypted volume; gives the path of the open volume. */
export async function encryptState(
  context: ActionContext,
  reserved: string,
  volume: Volume,
  keys: VolumeKeys,
): Promise<string> {
  const journal = await journalIn(reserved);
  if (journal.step === 'copied') {
    await formatLuks(context, volume.device, keys, { label: volume.name });
    const path = await open(context, volume, keys);
    await restore(context, reserved, path, journal, 'encrypting the state partition');
    await note(reserved, { ...journal, step: 'restored' });
    return path;
  }
  return open(context, volume, keys);
}

/** The root out to "reserved" and back into an encrypted volume; gives the path of the open volume. */
export async function encryptRoot(
  context: ActionContext,
  reserved: string,
  volume: Volume,
  keys: VolumeKeys,
  uuid: string | undefined,
): Promise<string> {
  let journal = await journalIn(reserved);
  if (journal.step === 'restored') {
    journal = await copyRootOut(context, reserved, volume.device, journal);
    await note(reserved, journal);
  }
  if (journal.step === 'root copied') {
    // The volume begins with its header and lies on the old root: what it does not overwrite could still be read.
    await clear(volume.device, 0, journal.bytes, context.signal);
    await formatLuks(context, volume.device, keys, { label: volume.name, uuid });
    const path = await open(context, volume, keys);
    await restore(context, reserved, path, journal, 'encrypting the root');
    await note(reserved, { ...journal, step: 'root restored' });
    return path;
  }
  return open(context, volume, keys);
}

/** Clears the copies that went through "reserved": they are as readable as the disk was before. */
export async function clearCopies(context: Pick<ActionContext, 'signal'>, reserved: string): Promise<void> {
  const journal = await journalIn(reserved);
  if (journal.step === 'done') return;
  await clear(reserved, 0, journal.usedBytes ?? journal.bytes, context.signal);
  await note(reserved, { ...journal, step: 'done', bytes: 0, sha256: '' });
}

/** Whether an earlier run has come to its end. */
export async function isDone(reserved: string): Promise<boolean> {
  return (await journalIn(reserved)).step === 'done';
}

async function copyRootOut(
  context: ActionContext,
  reserved: string,
  root: string,
  journal: MoveJournal,
): Promise<MoveJournal> {
  await context.run('e2fsck', ['-fp', root], { okExitCodes: [0, 1] });
  await using from = await BlockDevice.open(root);
  await using to = await BlockDevice.open(reserved);
  const bytes = await filesystemBytes({ device: from, startBytes: 0, sizeBytes: from.sizeBytes });
  const sha256 = await copyRange(
    { device: from, offset: 0 },
    { device: to, offset: 0 },
    bytes,
    'copying the root out',
    progressOf(context),
  );
  await to.sync();
  if ((await hashRange({ device: to, offset: 0 }, bytes, context.signal)) !== sha256) {
    throw notWhatWasCopied(reserved);
  }
  const usedBytes = Math.max(bytes, journal.usedBytes ?? 0);
  return { ...journal, step: 'root copied', bytes, sha256, usedBytes };
}

/** Copies back what "reserved" holds, and reads it again through the encryption: only then the copy may go. */
async function restore(
  context: ActionContext,
  reserved: string,
  path: string,
  { bytes, sha256 }: MoveJournal,
  stage: string,
): Promise<void> {
  await using from = await BlockDevice.open(reserved);
  await using to = await BlockDevice.open(path);
  const read = await copyRange(
    { device: from, offset: 0 },
    { device: to, offset: 0 },
    bytes,
    stage,
    progressOf(context),
  );
  await to.sync();
  const written = await hashRange({ device: to, offset: 0 }, bytes, context.signal);
  if (read !== sha256 || written !== sha256) throw notWhatWasCopied(read === sha256 ? path : reserved);
}

async function open(context: ActionContext, { device, name }: Volume, keys: VolumeKeys): Promise<string> {
  return (await openLuks(context, device, name, keys.disk)).path;
}

async function clear(path: string, offset: number, bytes: number, signal: AbortSignal): Promise<void> {
  await using device = await BlockDevice.open(path);
  await device.zero(offset, Math.min(bytes, device.sizeBytes - offset), { signal });
  await device.sync();
}

async function journalIn(reserved: string): Promise<MoveJournal> {
  await using device = await BlockDevice.open(reserved);
  const journal = await readJournal(device, { startBytes: 0, sizeBytes: device.sizeBytes });
  if (journal) return journal;
  throw new KindlingError('KND_MOVE_LOST', `${reserved} does not say how far the disk has come`);
}

async function note(reserved: string, journal: MoveJournal): Promise<void> {
  await using device = await BlockDevice.open(reserved);
  await writeJournal(device, { startBytes: 0, sizeBytes: device.sizeBytes }, journal);
}

function progressOf(context: ActionContext): CopyContext {
  return {
    signal: context.signal,
    onProgress: (stage, percent) => context.emit({ type: 'progress', stage, percent }),
  };
}
