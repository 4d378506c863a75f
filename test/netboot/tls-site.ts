import { join } from 'node:path';
import { ensureMicroOs } from '../../initrd/index.ts';
import { LAB_KERNEL_ARGUMENTS } from '../../lab/qemu/micro-os.ts';
import type { Bridge } from '../../lab/qemu/network.ts';
import { kill } from '../../lab/qemu/processes.ts';
import { MACHINES_BOOT, runKindling, type Serving, startKindling } from '../../lab/site/kindling.ts';

/** A site as a customer would run it: `kindling serve --pxe` with TLS, beside the customer's own dnsmasq. */
export interface TlsSite {
  state: string;
  stack: string;
  /** Runs `kindling …` beside the orchestrator and gives what it prints. */
  kindling: (...args: string[]) => Promise<string>;
  /** The names of the nodes' states, as the orchestrator knows them now. */
  nodeStates: () => Promise<string[]>;
  stop: () => Promise<void>;
  start: () => Promise<void>;
}

/** Plain HTTP for the firmware on 8080, everything else over TLS on 8443; files as `kindling serve --pxe` makes them. */
export async function startTlsSite(bridge: Bridge, ...flags: string[]): Promise<TlsSite> {
  const folder = bridge.namespace.makeFolder('site');
  const state = join(folder, 'state');
  const microOs = await ensureMicroOs('minimal');
  let server: Serving | undefined;
  const start = async () => {
    const serve = ['serve', '--plain-port', '8080', '--host', bridge.hostAddress, '--state', state];
    const boot = [
      '--pxe',
      bridge.name,
      '--micro-os',
      microOs.folder,
      ...LAB_KERNEL_ARGUMENTS.flatMap((argument) => ['--kernel-arg', argument]),
      ...flags,
    ];
    server = await startKindling(bridge.namespace, [...serve, ...boot], MACHINES_BOOT);
  };
  const kindling = (...args: string[]) => runKindling(bridge.namespace, [...args, '--state', state]);
  await start();
  const customer = await bridge.addHost(2);
  await customer.startDnsmasq([`dhcp-range=${bridge.address(100)},${bridge.address(150)},255.255.255.0,1h`]);
  return {
    state,
    stack: join(state, 'tink-stack'),
    kindling,
    nodeStates: async () => {
      const nodes = JSON.parse(await kindling('node', 'list', '--output', 'json')) as {
        statusText: string;
      }[];
      return nodes.map(({ statusText }) => statusText);
    },
    start,
    stop: async () => {
      if (server) await kill(server.process);
    },
  };
}
