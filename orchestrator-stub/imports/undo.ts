import { toHostId } from '../../protocol/ids.ts';
import type { Host } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { StoredRow } from './import-table.ts';

export interface UndoParts {
  hosts: HostTable;
  nodes: Nodes;
}

/** Why a row cannot be taken back any more; undefined: it can. A node that is gone already needs nothing. */
export async function whyNotUndone(
  { hosts }: UndoParts,
  { nodeId, before }: StoredRow,
): Promise<string | undefined> {
  const host = nodeId === null ? undefined : await hosts.byId(toHostId(nodeId));
  if (!host) return undefined;
  const hasBooted =
    host.lastSeenAt !== (before?.lastSeenAt ?? null) ||
    host.currentState !== (before?.currentState ?? 'UNSPECIFIED') ||
    (!before && (await hosts.claim(host.id)) !== undefined);
  if (hasBooted) return `${host.name} has booted`;
  if ((await hosts.instance(host.id)) && !before) return `${host.name} is being provisioned`;
  return undefined;
}

/** Makes the node of a row what it was before the import. */
export async function undoRow({ hosts, nodes }: UndoParts, { nodeId, before }: StoredRow): Promise<void> {
  const host = nodeId === null ? undefined : await hosts.byId(toHostId(nodeId));
  if (!host) return;
  if (!before) await nodes.remove(host);
  else await nodes.change(host.id, () => restored(host, before));
}

/** Only what an import writes goes back; what happened to the node beside it stays. */
function restored(host: Host, before: Host): Host {
  const { ekHash: _ekHash, ...rest } = host;
  return {
    ...rest,
    isRegistered: before.isRegistered,
    name: before.name,
    uuid: before.uuid,
    serial: before.serial,
    mac: before.mac,
    isMacRegistered: before.isMacRegistered ?? false,
    profile: before.profile,
    site: before.site,
    metadata: before.metadata,
    desiredState: before.desiredState,
    registrationStatus: before.registrationStatus,
    ...(before.ekHash === undefined ? {} : { ekHash: before.ekHash }),
  };
}
