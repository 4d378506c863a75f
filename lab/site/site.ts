import { copyFileSync, linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureMicroOs } from '../../initrd/index.ts';
import { ensureIpxe } from '../../ipxe/debian-ipxe.ts';
import { openOperatorToken } from '../../site/operator-token.ts';
import { LAB_KERNEL_ARGUMENTS } from '../qemu/micro-os.ts';
import type { Bridge } from '../qemu/network.ts';
import { MACHINES_BOOT, runKindling, startKindling } from './kindling.ts';
import { forwardPort } from './port-forward.ts';

const PORT = 8080;
const TLS_PORT = 8443;

/** A whole site on a bridge: `kindling serve --pxe` beside the customer's own dnsmasq, which gives the addresses. */
export interface Site extends Disposable {
  /** The orchestrator as its nodes reach it. */
  url: string;
  /** The orchestrator as this host reaches it. */
  urlFromHost: string;
  /** What a caller of its API needs; undefined where it asks for none. */
  operatorToken: string | undefined;
  /** What firmware enrolls: PK, KEK, db, and the CA for HTTPS boot. */
  keysFolder: string;
  /** Runs `kindling …` against the orchestrator and gives what it prints. */
  kindling: (...args: string[]) => Promise<string>;
  /** Serves a file below /tink-stack/; gives its address for the nodes. */
  publish: (name: string, file: string) => string;
  /** A file for `--file`; gives its path. */
  write: (name: string, content: string) => string;
  log: () => string;
}

export interface SiteOptions {
  /** Nodes that are to have the same address from firmware to installed system: MAC → last part of the address. */
  leases?: ReadonlyMap<string, number>;
  /** Everything over TLS from the firmware on, which knows the site's CA; without it nothing is. */
  httpsBoot?: boolean;
}

export async function startSite(bridge: Bridge, options: SiteOptions = {}): Promise<Site> {
  const folder = bridge.namespace.makeFolder('site');
  const state = join(folder, 'state');
  const stack = join(state, 'tink-stack');
  mkdirSync(stack, { recursive: true });
  const microOs = await ensureMicroOs('minimal');
  await ensureIpxe(); // here, because the site's own network does not reach Debian's mirror

  const serve = [
    ...['serve', '--plain-port', String(PORT), '--host', bridge.hostAddress, '--state', state],
    ...(options.httpsBoot ? ['--port', String(TLS_PORT), '--https-boot'] : ['--plain']),
    ...['--pxe', bridge.name, '--micro-os', microOs.folder],
    ...LAB_KERNEL_ARGUMENTS.flatMap((argument) => ['--kernel-arg', argument]),
  ];
  const { log } = await startKindling(bridge.namespace, serve, MACHINES_BOOT);
  await startCustomersDhcp(bridge, options.leases ?? new Map());
  // The port without TLS serves boot files only: from this host, TLS is taken off on the way.
  const forward = await forwardPort(bridge.namespace, {
    address: bridge.hostAddress,
    port: options.httpsBoot ? TLS_PORT : PORT,
    isTls: options.httpsBoot ?? false,
  });

  const url = options.httpsBoot
    ? `https://${bridge.hostAddress}:${TLS_PORT}`
    : `http://${bridge.hostAddress}:${PORT}`;
  return {
    url,
    operatorToken: options.httpsBoot ? openOperatorToken(state) : undefined,
    keysFolder: join(stack, 'keys'),
    urlFromHost: `http://127.0.0.1:${forward.port}`,
    log,
    kindling: (...args) => runKindling(bridge.namespace, [...args, '--state', state]),
    publish: (name, file) => {
      linkOrCopy(file, join(stack, name));
      return `${url}/tink-stack/${name}`;
    },
    write: (name, content) => {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
    [Symbol.dispose]: () => forward[Symbol.dispose](),
  };
}

async function startCustomersDhcp(bridge: Bridge, leases: ReadonlyMap<string, number>): Promise<void> {
  const customer = await bridge.addHost(2);
  await customer.startDnsmasq([
    `dhcp-range=${bridge.address(100)},${bridge.address(150)},255.255.255.0,1h`,
    `dhcp-option=option:router,${bridge.hostAddress}`,
    ...[...leases].map(([mac, last]) => `dhcp-host=${mac},${bridge.address(last)}`),
  ]);
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to); // another file system
  }
}
