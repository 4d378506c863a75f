import { z } from 'zod';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import type { HostTable } from '../../nodes/host-table.ts';
import { ProfileSchema } from '../../nodes/profile.ts';
import type { Provisioning } from '../../provisioning/provisioning.ts';
import type { Workflows } from '../../workflow/workflows.ts';
import { NodeSchema } from './node-schemas.ts';
import { nodeView } from './node-view.ts';

export interface BillRouteParts {
  provisioning: Provisioning;
  hosts: HostTable;
  workflows: Workflows;
}

/** Whether a machine is what was ordered. */
export function billRoutes({ provisioning, hosts, workflows }: BillRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'POST',
      path: '/api/v1/profiles/{name}/bill',
      access: 'person',
      tag: 'profiles',
      operationId: 'learnBill',
      summary: 'Take the parts of a node as the bill of materials of a profile',
      body: z.strictObject({ node: z.string().min(1).max(200) }),
      answer: ProfileSchema,
      handle: ({ path, body }) => provisioning.learnBill(path['name'] ?? '', body.node),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/nodes/{id}/accept-parts',
      access: 'person',
      tag: 'nodes',
      operationId: 'acceptParts',
      summary: 'Take a node as it is, although it differs from the bill of materials of its profile',
      answer: NodeSchema,
      handle: async ({ path }) => {
        const host = await provisioning.acceptParts(path['id'] ?? '');
        return nodeView(host, await hosts.instance(host.id), await workflows.latestOf(host.id));
      },
    }),
  ];
}
