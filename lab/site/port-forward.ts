import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { waitFor } from '../../system/wait.ts';
import type { Namespace } from '../qemu/network.ts';
import { makeFolder, removeFolder } from '../qemu/processes.ts';

/**
 * Makes a TCP port of a network namespace reachable at 127.0.0.1 of this host, without touching the host's network: a socket
 * file is the same on both sides. TLS, if it is spoken there, is taken off on the way. Gives the port here.
 */
export async function forwardPort(
  namespace: Namespace,
  target: { address: string; port: number; isTls?: boolean },
): Promise<{ port: number } & Disposable> {
  const folder = makeFolder('forward');
  const file = join(folder, 'socket');
  // A lab's own server on a network of its own: nobody else could answer.
  const peer = target.isTls
    ? `OPENSSL:${target.address}:${target.port},verify=0`
    : `TCP:${target.address}:${target.port}`;
  namespace.start('socat', [`UNIX-LISTEN:${file},fork`, peer]);
  await waitFor(() => existsSync(file) || undefined, { name: 'socat', timeoutMs: 10_000, intervalMs: 20 });
  const server = createServer((here) => {
    const there = connect(file);
    here.pipe(there).pipe(here);
    here.on('error', () => there.destroy());
    there.on('error', () => here.destroy());
    here.on('close', () => there.destroy());
    there.on('close', () => here.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.dispose]: () => {
      server.close();
      removeFolder(folder);
    },
  };
}
