import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureMicroOs, type MicroOs } from '../../initrd/index.ts';
import { ensureIpxe } from '../../ipxe/debian-ipxe.ts';
import { bootMachine } from '../../lab/qemu/machine.ts';
import type { MachineSpec } from '../../lab/qemu/machine-spec.ts';
import { LAB_KERNEL_ARGUMENTS } from '../../lab/qemu/micro-os.ts';
import { type Bridge, createTestNetwork } from '../../lab/qemu/network.ts';
import { prepareBootFiles } from '../../site/boot-files.ts';
import { openSiteKeys } from '../../site/site-keys.ts';
import { makeTargetImage } from '../standalone/usb/target-image.ts';

const CLI = join(import.meta.dirname, '../../cli/main.ts');
const HTTP_PORT = 8080;
const MAC = '52:54:00:05:00:01';
/** The first words of the Micro-OS's init, whatever the agent says later. */
const MICRO_OS_IS_UP = /KINDLING-STAGE|kindling-agent 0/;
/** The last words of the boot path under UEFI: all files are there and right. The Micro-OS after it comes up in the demo, by the same way. */
const LOADED = /^Kindling: the Micro-OS is the one this site has signed$/;

const WITHOUT_PXE = ['IPv4PXESupport', 'IPv6PXESupport'].map((name) => ({
  name: `opt/org.tianocore/${name}`,
  string: 'no',
}));

let microOs: MicroOs;
let ipxe: string;
beforeAll(async () => {
  microOs = await ensureMicroOs('minimal');
  ipxe = await ensureIpxe();
});

/** A site on a bridge: `kindling pxe` with our iPXE, a plain web server with script and Micro-OS, the customer's dnsmasq. */
async function startSite(bridge: Bridge, ...flags: string[]): Promise<{ log: () => string; web: string }> {
  const folder = bridge.namespace.makeFolder('site');
  const web = join(folder, 'web');
  const tftp = join(folder, 'tftp');
  const base = `http://${bridge.hostAddress}:${HTTP_PORT}`;
  const request = {
    stackFolder: web,
    tftpFolder: tftp,
    stackUrl: base,
    serverUrl: base,
    microOsFolder: microOs.folder,
    ipxeFolder: ipxe,
    consoles: ['ttyS0,115200'],
    additionalKernelArgs: [...LAB_KERNEL_ARGUMENTS],
  };
  await prepareBootFiles(request, await openSiteKeys(join(folder, 'state')));

  let log = '';
  const ready = Promise.withResolvers<void>();
  bridge.namespace.start('busybox', ['httpd', '-f', '-p', `${bridge.hostAddress}:${HTTP_PORT}`, '-h', web]);
  const pxe = bridge.namespace.start(
    process.execPath,
    [CLI, 'pxe', '--interface', bridge.name, '--tftp-root', tftp, '--script', `${base}/boot.ipxe`, ...flags],
    (text) => {
      log += text;
      if (log.includes('serving')) ready.resolve();
    },
  );
  pxe.on('close', () => ready.reject(new Error(`kindling pxe ended: ${log}`)));
  await ready.promise;
  const customer = await bridge.addHost(2);
  await customer.startDnsmasq([`dhcp-range=${bridge.address(100)},${bridge.address(150)},255.255.255.0,1h`]);
  return { log: () => log, web };
}

const machine = (bridge: Bridge, spec: MachineSpec): MachineSpec => ({
  memoryMb: 768,
  cpus: 1,
  nics: [
    {
      model: 'virtio',
      mac: MAC,
      network: bridge,
      ...(spec.firmware === 'seabios' ? { optionRom: true } : {}),
    },
  ],
  ...spec,
});

describe('a machine with an empty disk, beside the customer’s DHCP server', () => {
  it('boots the Micro-OS by UEFI PXE: proxy offer, TFTP, iPXE, our scripts', async () => {
    await using network = await createTestNetwork();
    const site = await startSite(network.bridge, '--mode', 'auto-proxy');
    await using node = await bootMachine(machine(network.bridge, { firmware: 'ovmf' }));
    await node.console.waitFor(/Kindling: net0 has 10\.77\.0\.1\d\d/, { timeoutMs: 180_000 });
    await node.console.waitFor(LOADED, { timeoutMs: 180_000 });
    expect(site.log()).toMatch(/tftp .* ipxe\.efi: complete, \d+ bytes/);
  });

  it('boots it by UEFI HTTP boot', async () => {
    await using network = await createTestNetwork();
    await startSite(network.bridge, '--mode', 'auto-proxy');
    await using node = await bootMachine(
      machine(network.bridge, { firmware: 'ovmf', firmwareConfig: WITHOUT_PXE }),
    );
    await node.console.waitFor(/HTTP Boot over IPv4/, { timeoutMs: 180_000 });
    await node.console.waitFor(/Kindling: net0 has 10\.77\.0\.1\d\d/, { timeoutMs: 180_000 });
    await node.console.waitFor(LOADED, { timeoutMs: 180_000 });
  });

  it('boots it by BIOS PXE', async () => {
    await using network = await createTestNetwork();
    await startSite(network.bridge, '--mode', 'auto-proxy');
    await using node = await bootMachine(
      machine(network.bridge, { firmware: 'seabios', chipset: 'pc', serialFirmware: true }),
    );
    await node.console.waitFor(/^Kindling: loading vmlinuz-x86_64$/, { timeoutMs: 180_000 });
    await node.console.waitFor(MICRO_OS_IS_UP, { timeoutMs: 180_000 });
  });
});

describe('a machine that runs its system and asks the network first', () => {
  it.each(['ovmf', 'seabios'] as const)(
    'starts its disk under %s, and loads no Micro-OS',
    async (firmware) => {
      await using network = await createTestNetwork();
      const { bridge } = network;
      const { web } = await startSite(bridge, '--mode', 'auto-proxy');
      // The answer of the orchestrator to its MAC, as a file.
      mkdirSync(join(web, 'local-boot'));
      writeFileSync(join(web, 'local-boot', MAC.replaceAll(':', '-')), 'disk\n');
      const folder = bridge.namespace.makeFolder('target');
      await makeTargetImage(folder);
      const nics = [
        { model: 'virtio', mac: MAC, network: bridge, optionRom: firmware === 'seabios', bootIndex: 1 },
      ] as const;
      const disks = [{ file: join(folder, 'target.raw'), bus: 'sata', bootIndex: 2 }] as const;
      await using node = await bootMachine(
        machine(bridge, {
          firmware,
          nics,
          disks,
          ...(firmware === 'seabios' ? { chipset: 'pc', serialFirmware: true } : {}),
        }),
      );
      await node.console.waitFor(/^Kindling: this machine has its system/, { timeoutMs: 180_000 });
      await node.console.waitFor(/^TARGET-UP/, { timeoutMs: 180_000 });
      expect(node.console.lines.map(({ text }) => text).join('\n')).not.toContain('Kindling: loading');
    },
  );
});

describe('a machine whose network card brings an iPXE of its own (Debian’s QEMU, as it comes)', () => {
  it.each(['virtio', 'e1000e'] as const)(
    'boots from %s under UEFI and does not load iPXE for ever',
    async (model) => {
      await using network = await createTestNetwork();
      const site = await startSite(network.bridge, '--mode', 'auto-proxy');
      const nics = [{ model, mac: MAC, network: network.bridge, optionRom: true, bootIndex: 1 }];
      await using node = await bootMachine(machine(network.bridge, { firmware: 'ovmf', nics }));
      await node.console.waitFor(LOADED, { timeoutMs: 300_000 });
      expect(site.log().match(/ipxe\.efi: complete/g)?.length).toBeLessThanOrEqual(2);
    },
  );
});
