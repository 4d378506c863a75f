import { z } from 'zod';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import type { CertificateRefusals } from '../../nodes/certificate-refusals.ts';
import { DiscoverySchema } from '../../nodes/discovery.ts';
import type { Host } from '../../nodes/host.ts';
import type { HostTable } from '../../nodes/host-table.ts';
import type { Nodes } from '../../nodes/nodes.ts';
import type { ProofGate } from '../../nodes/proof-gate.ts';
import type { Provisioning } from '../../provisioning/provisioning.ts';
import type { Revocation } from '../../provisioning/revocation.ts';
import type { LogTable } from '../../store/log-table.ts';
import type { Workflows } from '../../workflow/workflows.ts';
import {
  CorrectionSchema,
  FirstBootReportSchema,
  LogLineSchema,
  NodeSchema,
  RegistrationSchema,
} from './node-schemas.ts';
import { nodeView } from './node-view.ts';

export interface NodeRouteParts {
  nodes: Nodes;
  gate: ProofGate;
  hosts: HostTable;
  logs: LogTable;
  provisioning: Provisioning;
  revocation: Revocation;
  workflows: Workflows;
  refusals: CertificateRefusals;
}

/** The inventory of a server with a hundred disks has some 100 kB. Anybody may send one, ten thousand are kept. */
const DISCOVERY_LIMIT_BYTES = 256 * 1024;

const tag = 'nodes';

export function nodeRoutes({
  nodes,
  gate,
  hosts,
  logs,
  provisioning,
  workflows,
  revocation,
  refusals,
}: NodeRouteParts): ApiRoute[] {
  const view = async (host: Host) =>
    nodeView(host, await hosts.instance(host.id), await workflows.latestOf(host.id));
  const viewInFull = async (host: Host) => ({
    ...(await view(host)),
    inventory: (await hosts.inventory(host.id)) ?? (await hosts.claim(host.id)),
    attributes: await hosts.attributes(host.id),
  });
  return [
    apiRoute({
      method: 'POST',
      path: '/api/v1/discovery',
      access: 'anyone',
      tag,
      operationId: 'reportDiscovery',
      summary: 'A machine shows itself: stores its inventory, whether it is registered or not',
      body: DiscoverySchema,
      bodyLimit: DISCOVERY_LIMIT_BYTES,
      answer: z.object({ nodeId: z.string() }),
      handle: async ({ body, client }) => ({ nodeId: (await nodes.discover(body, client)).id }),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/certificate-refusals',
      access: 'person',
      tag,
      operationId: 'listCertificateRefusals',
      summary: 'Who reached this server in the last two minutes and refused its certificate',
      answer: z.object({
        refusals: z.array(z.object({ address: z.string(), reason: z.string(), lastAt: z.string() })),
      }),
      handle: () => ({ refusals: refusals.list() }),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/nodes',
      access: 'person',
      tag,
      operationId: 'registerNode',
      summary: 'Register a node by UUID, serial or MAC',
      body: RegistrationSchema,
      status: 201,
      answer: NodeSchema,
      handle: async ({ body }) => view(await nodes.register(body)),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/nodes/{id}',
      access: 'person',
      tag,
      operationId: 'getNode',
      summary: 'One node with its inventory; {id} is an id, name, UUID, serial or MAC',
      answer: NodeSchema,
      handle: async ({ path }) => viewInFull(await nodes.find(path['id'] ?? '')),
    }),
    apiRoute({
      method: 'PATCH',
      path: '/api/v1/nodes/{id}',
      access: 'person',
      tag,
      operationId: 'correctNode',
      summary: 'Correct a registration; a mismatch is cleared by it',
      body: CorrectionSchema,
      answer: NodeSchema,
      handle: async ({ path, body }) => {
        const host = await nodes.correct(path['id'] ?? '', body);
        provisioning.advance(host.id);
        return view(host);
      },
    }),
    apiRoute({
      method: 'DELETE',
      path: '/api/v1/nodes/{id}',
      access: 'person',
      tag,
      operationId: 'deleteNode',
      summary: 'Forget a node and revoke its credentials',
      status: 204,
      answer: z.void(),
      handle: ({ path }) => revocation.delete(path['id'] ?? ''),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/nodes/{id}/onboard',
      access: 'person',
      tag,
      operationId: 'onboardNode',
      summary: 'Let a registered node in: it gets its credentials at its next knock',
      answer: NodeSchema,
      handle: async ({ path }) => view(await nodes.onboard(path['id'] ?? '')),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/nodes/{id}/approve',
      access: 'person',
      tag,
      operationId: 'approveNode',
      summary: 'The machine whose console shows this code is the node: its TPM is remembered',
      body: z.strictObject({ code: z.string().min(1).max(20) }),
      answer: NodeSchema,
      handle: async ({ path, body }) =>
        view(await nodes.change(path['id'] ?? '', (host) => gate.approve(host, body.code))),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/nodes/{id}/deauthorise',
      access: 'person',
      tag,
      operationId: 'deauthoriseNode',
      summary: 'Take the trust away: credentials and tokens stop working at once',
      answer: NodeSchema,
      handle: async ({ path }) => view(await revocation.deauthorize(path['id'] ?? '')),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/nodes/{id}/provision',
      access: 'person',
      tag,
      operationId: 'provisionNode',
      summary: 'Choose the profile of a node that has none (manual mode)',
      body: z.strictObject({ profile: z.string().min(1).max(120) }),
      answer: NodeSchema,
      handle: async ({ path, body }) => {
        await provisioning.provision(path['id'] ?? '', body.profile);
        return view(await nodes.find(path['id'] ?? ''));
      },
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/nodes/{id}/reprovision',
      access: 'person',
      tag,
      operationId: 'reprovisionNode',
      summary: 'A new generation: when the node network-boots next, its disk is written anew',
      body: z.strictObject({ profile: z.string().min(1).max(120).optional() }),
      answer: NodeSchema,
      handle: async ({ path, body }) => {
        await provisioning.reprovision(path['id'] ?? '', body.profile);
        return view(await nodes.find(path['id'] ?? ''));
      },
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/nodes/{id}/logs',
      access: 'person',
      tag,
      operationId: 'getNodeLogs',
      summary: 'The newest log lines of a node, oldest first',
      query: z.object({ limit: z.coerce.number().int().min(1).max(100_000).default(1000) }),
      answer: z.object({ lines: z.array(LogLineSchema) }),
      handle: async ({ path, query }) => {
        const { id } = await nodes.find(path['id'] ?? '');
        return { lines: await logs.tail(id, query.limit) };
      },
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/first-boot/{key}',
      access: 'anyone',
      tag,
      operationId: 'reportFirstBoot',
      summary:
        'The installed system reports that it has booted, and how its agents fare; the key came with its cloud-init',
      body: FirstBootReportSchema,
      bodyLimit: 64 * 1024,
      answer: z.object({ nodeId: z.string() }),
      handle: async ({ path, body }) => ({
        nodeId: (await provisioning.firstBoot(path['key'] ?? '', body)).id,
      }),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/first-boot/{key}/boot-order',
      access: 'anyone',
      tag,
      operationId: 'reportBootOrder',
      summary: 'The installed system has put itself at the head of the firmware’s boot order',
      answer: z.object({ nodeId: z.string() }),
      handle: async ({ path }) => ({ nodeId: (await provisioning.bootOrderCommitted(path['key'] ?? '')).id }),
    }),
  ];
}
