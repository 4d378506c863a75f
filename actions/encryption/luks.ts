import { fileExists } from '../../system/file-exists.ts';
import type { ActionContext } from '../contract/action.ts';
import type { LedgerEntry } from '../resources/ledger.ts';
import type { KeyFiles } from './key-files.ts';

type LuksContext = Pick<ActionContext, 'run' | 'resources'>;

/** No udev runs in the Micro-OS; without this libdevmapper would wait for it. */
const ENVIRONMENT = { DM_DISABLE_UDEV: '1' };

/** Header and key slots of LUKS2 as cryptsetup lays them out; the data begins behind them. */
export const LUKS_HEADER_BYTES = 16 * 2 ** 20;

/** With what a volume is made. */
export interface VolumeKeys extends KeyFiles {
  keyId: string;
  /** The PCRs the TPM gives the disk key out for; the volume notes them for the program that opens it before its first boot. */
  pcrs: string;
}

export interface LuksVolume {
  /** /dev/mapper/… */
  path: string;
  close(): Promise<void>;
}

/**
 * Makes an encrypted volume with both keys. The keys are 256 random bits, so nothing is gained by making each try slow: argon2 with EMF’s 2 GB of
 * memory would only fail on a small machine.
 */
export async function formatLuks(
  { run }: LuksContext,
  device: string,
  keys: VolumeKeys,
  options: { label: string; uuid?: string | undefined },
): Promise<void> {
  const cheap = ['--pbkdf', 'pbkdf2', '--pbkdf-force-iterations', '1000'];
  await run(
    'cryptsetup',
    [
      ...[
        'luksFormat',
        '--batch-mode',
        '--type',
        'luks2',
        '--cipher',
        'aes-xts-plain64',
        '--key-size',
        '512',
      ],
      ...cheap,
      ...['--label', options.label, ...(options.uuid ? ['--uuid', options.uuid] : [])],
      ...['--key-file', keys.disk, device],
    ],
    { env: ENVIRONMENT },
  );
  await run('cryptsetup', ['luksAddKey', ...cheap, '--key-file', keys.disk, device, keys.recovery], {
    env: ENVIRONMENT,
  });
  // So that a person in front of a locked disk knows which of the escrowed keys is its own.
  await run('cryptsetup', ['token', 'import', device], {
    env: ENVIRONMENT,
    input: JSON.stringify({ type: 'kindling-escrow', keyslots: ['1'], key_id: keys.keyId, pcrs: keys.pcrs }),
  });
}

/**
 * Whether `formatLuks` has come to its end here with this key. One that was killed in the middle leaves a volume that opens but has no recovery key;
 * the token comes last.
 */
async function isFormatted({ run }: LuksContext, device: string, keyFile: string): Promise<boolean> {
  const opens = ['open', '--type', 'luks2', '--test-passphrase', '--key-file', keyFile, device];
  const hasToken = ['token', 'export', '--token-id', '0', device];
  for (const question of [opens, hasToken]) {
    const { exitCode } = await run('cryptsetup', question, {
      env: ENVIRONMENT,
      okExitCodes: [0, 1, 2, 4, 5],
    });
    if (exitCode !== 0) return false;
  }
  return true;
}

/** An encrypted volume with nothing in it yet, open; one that an earlier run made is opened as it is. */
export async function openNewVolume(
  context: LuksContext & Pick<ActionContext, 'emit'>,
  device: string,
  name: string,
  keys: VolumeKeys,
): Promise<string> {
  if (!(await isFormatted(context, device, keys.disk))) {
    context.emit({ type: 'progress', stage: `encrypting ${name}` });
    await formatLuks(context, device, keys, { label: name });
  }
  return (await openLuks(context, device, name, keys.disk)).path;
}

/** Opens a volume under a name; it closes with the action. One that a killed run left open is closed first. */
export async function openLuks(
  context: LuksContext,
  device: string,
  name: string,
  keyFile: string,
): Promise<LuksVolume> {
  await closeLeftOpen(context, name);
  const entry: LedgerEntry = { kind: 'mapping', name };
  const signal = new AbortController().signal; // never left half open by a cancel
  await context.resources.take(
    entry,
    () =>
      context.run('cryptsetup', ['open', '--type', 'luks2', '--key-file', keyFile, device, name], {
        env: ENVIRONMENT,
        signal,
      }),
    async () => {
      await context.run('cryptsetup', ['close', name], { env: ENVIRONMENT, signal });
    },
  );
  return { path: `/dev/mapper/${name}`, close: () => context.resources.release(entry) };
}

/** An action that was killed with nobody to clean up after it leaves its mappings. */
export async function closeLeftOpen({ run }: Pick<LuksContext, 'run'>, name: string): Promise<void> {
  if (await fileExists(`/dev/mapper/${name}`)) await run('cryptsetup', ['close', name], { env: ENVIRONMENT });
}
