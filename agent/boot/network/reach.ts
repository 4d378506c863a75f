import { lookup, Resolver } from 'node:dns/promises';
import { connect, isIP } from 'node:net';
import type { Lease } from './lease.ts';

export interface Target {
  host: string;
  port: number;
}

/** Can a TCP connection to any of the targets be made through this interface? (Its own address leads out by its own routes.) */
export async function reaches(
  lease: Lease,
  targets: readonly Target[],
  timeoutMs: number,
): Promise<Target | undefined> {
  const attempts = targets.map(async (target) => {
    const addresses = await resolve(target.host, lease, timeoutMs);
    await Promise.any(
      addresses.map((address) => connectOnce(address, target.port, lease.address, timeoutMs)),
    );
    return target;
  });
  return Promise.any(attempts).catch(() => undefined);
}

/** By the name servers this interface was given; several cards may be in nets that know different names. */
async function resolve(host: string, lease: Lease, timeoutMs: number): Promise<string[]> {
  const family = isIP(lease.address) === 6 ? 6 : 4;
  if (isIP(host)) return isIP(host) === family ? [host] : [];
  if (lease.nameservers.length > 0) {
    const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
    resolver.setServers(lease.nameservers);
    resolver.setLocalAddress(lease.address);
    const found = await (family === 6 ? resolver.resolve6(host) : resolver.resolve4(host)).catch(() => []);
    if (found.length > 0) return found;
  }
  const known = await lookup(host, { all: true, family }); // /etc/hosts, which the config archive may bring
  return known.map(({ address }) => address);
}

function connectOnce(host: string, port: number, localAddress: string, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, localAddress, timeout: timeoutMs });
    const end = (finish: () => void) => {
      socket.destroy();
      finish();
    };
    socket.once('connect', () => end(resolve));
    socket.once('timeout', () => end(() => reject(new Error('timeout'))));
    socket.once('error', (cause: NodeJS.ErrnoException) => {
      // A refusal comes from the machine itself: the way there works, and the service may still be starting.
      end(cause.code === 'ECONNREFUSED' ? resolve : () => reject(cause));
    });
  });
}
