import { copyFileSync, linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureMicroOs } from '../../initrd/index.ts';
import { ensureIpxe } from '../../ipxe/debian-ipxe.ts';
import { renderBootScript, renderChainScript } from '../../ipxe/render-script.ts';
import type { Bridge } from '../qemu/network.ts';
import { makeFolder, removeFolder } from '../qemu/processes.ts';

const CLI = join(import.meta.dirname, '../../orchestrator-stub/cli/main.ts');
const PORT = 8080;

/** A whole site on a bridge: orchestrator, PXE server beside the customer's own dnsmasq, Micro-OS and images to serve. */
export interface Site extends Disposable {
  url: string;
  /** Runs `kindling …` against the orchestrator and gives what it prints. */
  kindling: (...args: string[]) => Promise<string>;
  /** Serves a file below /tink-stack/; gives its address. */
  publish: (name: string, file: string) => string;
  log: () => string;
}

export async function startSite(bridge: Bridge): Promise<Site> {
  const folder = makeFolder('site');
  const stack = join(folder, 'tink-stack');
  const tftp = join(folder, 'tftp');
  const state = join(folder, 'state');
  const url = `http://${bridge.hostAddress}:${PORT}`;
  for (const path of [stack, tftp, state]) mkdirSync(path);
  const [microOs, ipxe] = await Promise.all([ensureMicroOs('minimal'), ensureIpxe()]);
  for (const name of ['undionly.kpxe', 'ipxe.efi']) copyFileSync(join(ipxe, name), join(tftp, name));
  writeFileSync(join(tftp, 'autoexec.ipxe'), renderChainScript(`${url}/tink-stack/boot.ipxe`));
  copyFileSync(microOs.kernel, join(stack, 'vmlinuz-x86_64'));
  copyFileSync(microOs.initramfs, join(stack, 'initramfs-x86_64'));
  writeFileSync(
    join(stack, 'boot.ipxe'),
    renderBootScript({
      kernelUrl: `${url}/tink-stack/vmlinuz-x86_64`,
      initramfsUrl: `${url}/tink-stack/initramfs-x86_64`,
      grpcAuthority: '127.0.0.1:42113',
      consoles: ['ttyS0,115200'],
      additionalKernelArgs: [`kindling.server=${url}`],
    }),
  );

  let log = '';
  const start = (args: string[], ready: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const child = bridge.namespace.start(process.execPath, [CLI, ...args], (text) => {
      log += text;
      if (log.includes(ready)) resolve();
    });
    child.on('close', () => reject(new Error(`kindling ${args[0]} ended: ${log}`)));
    return promise;
  };
  await start(
    [
      'serve',
      '--plain',
      '--plain-port',
      String(PORT),
      '--host',
      bridge.hostAddress,
      '--state',
      state,
      '--artefacts',
      stack,
    ],
    'kindling serves',
  );
  await start(
    ['pxe', '--interface', bridge.name, '--tftp-root', tftp, '--script', `${url}/tink-stack/boot.ipxe`],
    'serving auto-proxy',
  );
  const customer = await bridge.addHost(2);
  await customer.startDnsmasq([`dhcp-range=${bridge.address(100)},${bridge.address(150)},255.255.255.0,1h`]);

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
    [Symbol.dispose]: () => removeFolder(folder),
  };
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
