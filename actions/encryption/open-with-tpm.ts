import type { ActionContext } from '../contract/action.ts';
import { diskKeysOf } from './disk-keys.ts';
import { layOutKeys } from './key-files.ts';
import { openLuks } from './luks.ts';
import { unsealFromTpm } from './tpm.ts';

const NAME = 'kindling_target';
/** What fde_dmv takes where nothing else is said. */
const USUAL_PCRS = '15';

/**
 * Opens the root that fde_dmv has encrypted, for the actions that come after it: the TPM gives the key out until the installed system has
 * started. It closes with the action. Gives the path below /dev/mapper.
 */
export async function openWithTpm(
  context: Pick<ActionContext, 'run' | 'resources'>,
  device: string,
): Promise<string> {
  const { stdout } = await context.run('cryptsetup', ['token', 'export', '--token-id', '0', device], {
    okExitCodes: [0, 1, 2, 4],
  });
  const pcrs = /"pcrs":\s*"([\d,]+)"/.exec(stdout)?.[1] ?? USUAL_PCRS;
  const files = await layOutKeys(context, diskKeysOf(await unsealFromTpm(context, pcrs)));
  return (await openLuks(context, device, NAME, files.disk)).path;
}
