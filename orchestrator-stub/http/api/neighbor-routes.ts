import { BlockList, isIPv6 } from 'node:net';
import { z } from 'zod';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import { KindlingError } from '../../../protocol/error.ts';
import type { HostId } from '../../../protocol/ids.ts';
import type { HostTable } from '../../nodes/host-table.ts';
import type { Neighbors } from '../../nodes/neighbors.ts';

export interface NeighborRouteParts {
  hosts: HostTable;
  neighbors: Neighbors;
  /** Whether nodes of this site help each other. */
  hasNeighbors: () => boolean;
}

const AnnouncementSchema = z.object({
  root: z.string().regex(/^[0-9a-f]{64}$/),
  address: z.union([z.ipv4(), z.ipv6()]),
  port: z.number().int().min(1).max(65_535),
  dropped: z.array(z.string().max(200)).max(256).default([]),
});

const tag = 'nodes';
const path = '/api/v1/neighbours/{key}';

/** Where nodes that write the same image find each other. */
export function neighborRoutes({ hosts, neighbors, hasNeighbors }: NeighborRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'POST',
      path,
      access: 'anyone',
      tag,
      operationId: 'announceNeighbour',
      summary:
        'A node says that it serves verified chunks of an image, and hears who else does; the key in the path came with its workflow',
      body: AnnouncementSchema,
      answer: z.object({ neighbours: z.array(z.string()), againSeconds: z.number() }),
      handle: async ({ path, body, client }) => {
        const hostId = await hostOf(path['key'] ?? '');
        if (body.address !== client && !isPrivate(body.address)) {
          throw new KindlingError(
            'KND_API_INVALID',
            'body.address: neither the address of the caller nor a private one',
          );
        }
        return neighbors.announce(hostId, body, client);
      },
    }),
    apiRoute({
      method: 'DELETE',
      path,
      access: 'anyone',
      tag,
      operationId: 'leaveNeighbours',
      summary: 'A node no longer serves chunks',
      status: 204,
      answer: z.void(),
      handle: async ({ path }) => neighbors.leave(await hostOf(path['key'] ?? '')),
    }),
  ];

  /** Once the installed system has booted, nothing is written any more. */
  async function hostOf(key: string): Promise<HostId> {
    const instance = hasNeighbors() ? await hosts.instanceByNeighborsKey(key) : undefined;
    const isTrusted = instance && (await hosts.byId(instance.hostId))?.currentState === 'ONBOARDED';
    if (!instance || !isTrusted || instance.firstBootAt) {
      throw new KindlingError('KND_API_NOT_FOUND', 'no neighbors are known under this address');
    }
    return instance.hostId;
  }
}

/** Addresses that lead nowhere but into the caller's own site (RFC 1918, 4193, 3927, 4291, 6598). */
const PRIVATE = new BlockList();
for (const [network, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of [
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv6');

const isPrivate = (address: string) => PRIVATE.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
