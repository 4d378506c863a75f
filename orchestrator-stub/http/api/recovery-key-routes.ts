import { z } from 'zod';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import { KindlingError } from '../../../protocol/error.ts';
import type { AuditLog } from '../../audit/audit-log.ts';
import { oneLine } from '../../audit/difference.ts';
import type { HostTable } from '../../nodes/host-table.ts';
import type { Nodes } from '../../nodes/nodes.ts';
import { encryptForOfflineKey } from '../../seal/offline-key.ts';
import type { Settings } from '../../settings/site-settings.ts';
import type { RecoveryKey, RecoveryKeyTable } from '../../store/recovery-key-table.ts';
import type { Store } from '../../store/store.ts';
import { isTerminal, type StoredWorkflow } from '../../workflow/workflow.ts';
import type { Workflows } from '../../workflow/workflows.ts';

export interface RecoveryKeyRouteParts {
  store: Store;
  nodes: Nodes;
  hosts: HostTable;
  recoveryKeys: RecoveryKeyTable;
  audit: AuditLog;
  workflows: Workflows;
  settings: Settings;
}

const KeySchema = z.object({
  keyId: z.string().regex(/^[0-9a-f]{16}$/),
  recoveryKey: z.string().min(8).max(200),
  disk: z.record(z.string(), z.unknown()),
});
export const StoredKeySchema = KeySchema.extend({
  recoveryKey: z.string().nullable().describe('Null: it is kept for the owner of escrowPublicKey only'),
  encryptedKey: z.string().optional().describe('RSA-OAEP with SHA-256, base64'),
  receivedAt: z.string(),
});

const tag = 'nodes';

/** Where nodes leave the recovery keys of their encrypted disks, and where operators find them. */
export function recoveryKeyRoutes({
  store,
  nodes,
  hosts,
  recoveryKeys,
  workflows,
  settings,
  audit,
}: RecoveryKeyRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'POST',
      path: '/api/v1/recovery-keys/{key}',
      access: 'anyone',
      tag,
      operationId: 'escrowRecoveryKey',
      summary:
        'A node leaves the recovery key of its disk before it encrypts it; the key in the path came with its workflow',
      body: KeySchema,
      answer: z.object({ nodeId: z.string(), keyId: z.string() }),
      handle: ({ path, body, client }) =>
        store.transaction(async () => {
          const instance = await hosts.instanceByEscrowKey(path['key'] ?? '');
          const host = instance && (await hosts.byId(instance.hostId));
          if (
            !instance ||
            host?.currentState !== 'ONBOARDED' ||
            !isEncrypting(await workflows.latestOf(instance.hostId))
          ) {
            throw new KindlingError('KND_API_NOT_FOUND', 'no disk is being encrypted under this address');
          }
          const receivedAt = new Date().toISOString();
          const isNew = await recoveryKeys.save(host.id, {
            ...body,
            ...keyFor(settings.get().escrowPublicKey, body.recoveryKey),
            receivedAt,
          });
          if (isNew) {
            const of = { who: host.id, role: 'node', node: host.id, nodeName: oneLine(host.name) };
            const what = { from: client, action: 'escrowRecoveryKey', target: body.keyId };
            await audit.append({ at: receivedAt, ...of, ...what, result: 'done' });
          }
          return { nodeId: instance.hostId, keyId: body.keyId };
        }),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/nodes/{id}/recovery-keys',
      access: 'person',
      tag,
      operationId: 'getRecoveryKeys',
      summary: 'The recovery keys of a node’s encrypted disks, the newest first',
      answer: z.object({ keys: z.array(StoredKeySchema) }),
      handle: async ({ path }) => ({
        keys: await recoveryKeys.list((await nodes.find(path['id'] ?? '')).id),
      }),
    }),
  ];
}

/** As it is kept: readable, or for the owner of an offline key only. */
function keyFor(
  offlineKey: string | null,
  recoveryKey: string,
): Pick<RecoveryKey, 'recoveryKey' | 'encryptedKey'> {
  if (offlineKey === null) return { recoveryKey };
  return { recoveryKey: null, encryptedKey: encryptForOfflineKey(offlineKey, recoveryKey) };
}

/** Whether a disk may be encrypted right now: the node's workflow runs, and has an action that leaves its key here. */
function isEncrypting(workflow: StoredWorkflow | undefined): boolean {
  return (
    workflow !== undefined &&
    !isTerminal(workflow.progress.state) &&
    workflow.definition.actions.some(({ environment }) =>
      environment.some((each) => each.startsWith('KINDLING_ESCROW_URL=')),
    )
  );
}
