import { KindlingError } from '../../protocol/error.ts';
import { waitFor } from '../../system/wait.ts';
import type { ActionContext } from '../contract/action.ts';
import type { EraseCapabilities, EraseMethod } from './methods.ts';
import type { AdminCommand } from './nvme-admin.ts';
import { readSanitizeState, type SanitizeState, startSanitize } from './nvme-commands.ts';

type Sanitize = NonNullable<NonNullable<EraseCapabilities['nvme']>['sanitize']>;

type SanitizeContext = Pick<ActionContext, 'log' | 'signal'> & {
  onProgress: (stage: string, percent?: number) => void;
  nvme?: AdminCommand;
};

/** A controller that is reset, or whose link breaks, does not answer for a while; the sanitize goes on in the drive meanwhile. */
const MAY_BE_SILENT_MS = 120_000;

export async function sanitizeNvme(device: string, how: Sanitize, context: SanitizeContext): Promise<void> {
  startSanitize(device, how, context.nvme);
  if ((await whenSanitized(device, context)) === 'failed')
    throw new KindlingError('KND_ERASE_INCOMPLETE', `${device} says its sanitize failed`);
}

/**
 * Until a sanitize is over, a drive refuses every read and write, also after a restart; and after one that failed, until one has succeeded
 * (NVMe base specification 1.4, section 8.15). So one of a run that was killed comes first.
 */
export async function settleSanitize(
  device: string,
  { method, how }: { method: EraseMethod; how: Sanitize },
  context: SanitizeContext,
): Promise<void> {
  let { state } = readSanitizeState(device, context.nvme);
  if (state === 'running') {
    context.log('info', `${device} is still busy with an earlier sanitize, which is waited for`);
    state = await whenSanitized(device, context);
  }
  if (state !== 'failed') return;
  if (method !== 'nvme-sanitize') {
    throw new KindlingError(
      'KND_ERASE_UNSUPPORTED',
      `${device} cannot be erased by ${method}: its last sanitize failed, and it takes no data until one succeeds (nvme-sanitize)`,
    );
  }
  context.log(
    'warn',
    `the last sanitize of ${device} failed; it takes no data before one succeeds, so that comes first`,
  );
  await sanitizeNvme(device, how, context);
}

function whenSanitized(
  device: string,
  { onProgress, signal, nvme }: SanitizeContext,
): Promise<SanitizeState> {
  let answeredAt = performance.now();
  return waitFor(
    () => {
      try {
        const { state, percent } = readSanitizeState(device, nvme);
        answeredAt = performance.now();
        onProgress('sanitizing', percent);
        return state === 'running' ? undefined : state;
      } catch (error) {
        if (performance.now() - answeredAt > MAY_BE_SILENT_MS) throw error;
        onProgress('sanitizing (it does not answer)');
        return undefined;
      }
    },
    { name: `sanitize of ${device}`, timeoutMs: 24 * 3600_000, intervalMs: 1_000, signal },
  );
}
