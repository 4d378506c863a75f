import { sendJson } from '../../net/send-json.ts';
import { KindlingError } from '../../protocol/error.ts';
import { waitFor } from '../../system/wait.ts';
import type { DiskIdentity } from '../disks/disk-identity.ts';
import type { DiskKeys } from './disk-keys.ts';

/** The variables of every action that encrypts. */
export const ESCROW_PARAMETERS = {
  KINDLING_ESCROW_URL: {
    type: 'url',
    secret: true,
    description:
      'Where the recovery key is posted (JSON: keyId, recoveryKey, disk) and must be accepted before anything is encrypted; the address is its credential',
  },
  KINDLING_ESCROW: {
    type: 'choice',
    choices: ['required', 'none'],
    default: 'required',
    description: 'none: encrypt without a recovery key in anybody’s hands',
  },
  TLS_CA_CERT: {
    type: 'text',
    description: 'PEM (or Base64 of it) of the CA that signed the certificate of that address',
  },
} as const;

export interface EscrowRequest {
  KINDLING_ESCROW_URL: string | undefined;
  KINDLING_ESCROW: 'required' | 'none';
  TLS_CA_CERT: string | undefined;
}

/** Asked before anything is touched. */
export function requireEscrow({ KINDLING_ESCROW_URL, KINDLING_ESCROW }: EscrowRequest): void {
  if (KINDLING_ESCROW_URL !== undefined || KINDLING_ESCROW === 'none') return;
  throw new KindlingError(
    'KND_ESCROW_NONE',
    'the disk is to be encrypted, but there is no KINDLING_ESCROW_URL to leave its recovery key at',
  );
}

/** Hands the recovery key over; resolves only when the other side has said that it has it. Giving the same key twice is harmless. */
export async function escrowRecoveryKey(
  request: EscrowRequest,
  { keyId, recoveryKey }: DiskKeys,
  disk: DiskIdentity,
  signal: AbortSignal,
): Promise<void> {
  const { KINDLING_ESCROW_URL: url, TLS_CA_CERT: ca } = request;
  if (url === undefined) return;
  const body = { keyId, recoveryKey, disk };
  let last = '';
  await waitFor(
    async () => {
      const answer = await sendJson(new URL(url), { method: 'POST', body, ca, signal }).catch(
        (cause: Error) => ({ status: 0, text: cause.message || 'no connection' }),
      );
      if (answer.status >= 200 && answer.status < 300) return true;
      last = answer.status === 0 ? answer.text : `HTTP ${answer.status} ${answer.text.slice(0, 200)}`;
      // It will not change its mind.
      if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) throw refused(url, last);
      return undefined;
    },
    { name: 'the recovery key to be accepted', timeoutMs: 60_000, intervalMs: 2_000, signal },
  ).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw cause instanceof KindlingError && cause.code === 'KND_ESCROW_FAILED' ? cause : refused(url, last);
  });
}

/** Host only: the rest of the address is a credential. */
function refused(url: string, why: string): KindlingError {
  return new KindlingError(
    'KND_ESCROW_FAILED',
    `${new URL(url).host} did not take the recovery key (${why}); nothing was encrypted`,
  );
}
