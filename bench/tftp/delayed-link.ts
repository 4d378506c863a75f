import { join } from 'node:path';
import { createTestNetwork, type Namespace } from '../../lab/qemu/network.ts';
import { waitFor } from '../../system/wait.ts';

const RELAY = join(import.meta.dirname, 'delay-program.ts');
const SERVER_ADDRESS = '10.96.0.1';
const CLIENT_ADDRESS = '10.96.0.2';

/** Two hosts with a link between them on which every packet takes a given time, in either direction. */
export interface DelayedLink extends AsyncDisposable {
  server: Namespace;
  client: Namespace;
  serverAddress: string;
  /** What ping measures, there and back, in milliseconds. */
  roundTripMs: number;
}

/**
 * Not every kernel has netem (the one of our build machines has not), so the delay is made by a program: each host has a TUN device
 * whose packets socat carries, one datagram each, over veth links to the relay in the middle.
 */
export async function createDelayedLink(delayMs: number): Promise<DelayedLink> {
  const network = await createTestNetwork();
  const { bridge } = network;
  const server = await bridge.addHost(11);
  const client = await bridge.addHost(12);
  const ready = Promise.withResolvers<void>();
  const relay = bridge.namespace.start(
    process.execPath,
    [RELAY, String(delayMs), `${bridge.address(11)}:5000`, `${bridge.address(12)}:5000`],
    () => ready.resolve(),
  );
  relay.on('close', () => ready.reject(new Error('the relay ended')));
  await ready.promise;
  for (const [host, own, relayPort] of [
    [server, SERVER_ADDRESS, 5001],
    [client, CLIENT_ADDRESS, 5002],
  ] as const) {
    host.start('socat', [
      '-b',
      '65536',
      `TUN:${own}/24,tun-name=link,iff-no-pi,iff-up`,
      `UDP4:${bridge.hostAddress}:${relayPort},sourceport=5000,rcvbuf=4194304,sndbuf=4194304`,
    ]);
  }
  const roundTripMs = await waitFor(
    async () => {
      const { stdout } = await client.run('busybox', ['ping', '-c', '3', '-W', '1', SERVER_ADDRESS], {
        okExitCodes: [0, 1, 2],
      });
      const [, average] = /= [\d.]+\/([\d.]+)\//.exec(stdout) ?? [];
      return average === undefined ? undefined : Number(average);
    },
    { name: 'the delayed link', timeoutMs: 20_000, intervalMs: 200 },
  );
  return {
    server,
    client,
    serverAddress: SERVER_ADDRESS,
    roundTripMs,
    [Symbol.asyncDispose]: () => network[Symbol.asyncDispose](),
  };
}
