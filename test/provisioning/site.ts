import { copyFileSync, linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureMicroOs } from '../../initrd/index.ts';
import type { Bridge } from '../../lab/qemu/network.ts';
import { makeFolder, removeFolder } from '../../lab/qemu/processes.ts';

const CLI = join(import.meta.dirname, '../../orchestrator-stub/cli/main.ts');
const PORT = 8080;

/** A whole site on a bridge: `kindling serve --pxe` beside the customer's own dnsmasq, which gives the addresses. */
export interface Site extends Disposable {
  url: string;
  /** Runs `kindling …` against the orchestrator and gives what it prints. */
  kindling: (...args: string[]) => Promise<string>;
  /** Serves a file below /tink-stack/; gives its address. */
  publish: (name: string, file: string) => string;
  /** A file for `--file`; gives its path. */
  write: (name: string, content: string) => string;
  log: () => string;
}

export async function startSite(bridge: Bridge): Promise<Site> {
  const folder = makeFolder('site');
  const state = join(folder, 'state');
  const stack = join(state, 'tink-stack');
  mkdirSync(stack, { recursive: true });
  const microOs = await ensureMicroOs('minimal');

  let log = '';
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  const serve = [
    ...['serve', '--plain', '--plain-port', String(PORT), '--host', bridge.hostAddress, '--state', state],
    ...['--pxe', bridge.name, '--micro-os', microOs.folder],
  ];
  const server = bridge.namespace.start(process.execPath, [CLI, ...serve], (text) => {
    log += text;
    if (log.includes('machines boot from')) resolve();
  });
  server.on('close', () => reject(new Error(`kindling serve ended: ${log}`)));
  await ready;
  const customer = await bridge.addHost(2);
  await customer.startDnsmasq([
    `dhcp-range=${bridge.address(100)},${bridge.address(150)},255.255.255.0,1h`,
    `dhcp-option=option:router,${bridge.hostAddress}`,
  ]);

  const url = `http://${bridge.hostAddress}:${PORT}`;
  return {
    url,
    log: () => log,
    kindling: async (...args) => {
      const { stdout } = await bridge.namespace.run(process.execPath, [CLI, ...args, '--state', state]);
      return stdout;
    },
    publish: (name, file) => {
      linkOrCopy(file, join(stack, name));
      return `${url}/tink-stack/${name}`;
    },
    write: (name, content) => {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
    [Symbol.dispose]: () => removeFolder(folder),
  };
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to); // another file system
  }
}
