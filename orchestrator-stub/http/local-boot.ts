import { TLSSocket } from 'node:tls';
import { plainAddress } from '../../net/address-group.ts';
import type { RawRoute } from '../../net/server/route.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { EventBus } from '../events/bus.ts';
import type { HostTable } from '../nodes/host-table.ts';
import { isInUse } from '../nodes/instance.ts';

/**
 * Asked by boot.ipxe before it loads anything: the machine with this MAC runs its system and starts from its disk. Not while the system
 * has not been heard of, or is to be written anew: those nodes need the Micro-OS. The answer is a word that nobody executes.
 */
export function localBootRoute(hosts: HostTable, bus: EventBus): RawRoute {
  return {
    method: 'GET',
    path: '/tink-stack/local-boot/{mac}',
    access: 'anyone',
    answer: async ({ request, response, path }) => {
      const mac = path['mac']?.toLowerCase().replaceAll('-', ':') ?? '';
      const host = /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac) ? await hosts.byMac(mac) : undefined;
      if (!host?.isRegistered || !isInUse(await hosts.instance(host.id))) {
        throw new KindlingError('KND_API_NOT_FOUND', 'no system of this site runs on that machine');
      }
      response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-store' }).end('disk\n');
      bus.publish({
        type: 'netboot',
        nodeId: '',
        step: request.socket instanceof TLSSocket ? 'https' : 'http',
        client: plainAddress(request.socket.remoteAddress),
        what: `${host.name} has its system: it starts from its disk`,
        bytes: 0,
      });
    },
  };
}
