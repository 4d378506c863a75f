import { KindlingError } from '../../protocol/error.ts';
import type { HostTable } from './host-table.ts';

/** A machine that showed itself once and was never registered is forgotten after this, when the room is needed. */
const FORGOTTEN_AFTER_MS = 30 * 24 * 3600 * 1000;

/**
 * Makes sure that one more machine nobody registered may be remembered. Anyone on the network can make up machines: without a
 * bound they would fill the disk. Throws KND_NODE_LIMIT; machines that are registered or already known are not concerned.
 */
export async function makeRoomForUnknown(hosts: HostTable, limit: number, now: Date): Promise<void> {
  if ((await hosts.countUnknown()) < limit) return;
  await hosts.forgetUnseenSince(new Date(now.getTime() - FORGOTTEN_AFTER_MS));
  if ((await hosts.countUnknown()) < limit) return;
  // Strangers push out strangers, the one that was silent longest first: a liar who makes machines up shuts nobody out.
  if (limit > 0 && (await hosts.forgetOldestUnknown())) return;
  throw new KindlingError(
    'KND_NODE_LIMIT',
    `the site remembers ${limit} machines nobody registered, and this would be one more`,
  );
}
