import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ensureMicroOs } from '../../initrd/index.ts';
import { bootMachine } from '../../lab/qemu/machine.ts';
import { GAVE_UP, waitForStage } from '../../lab/qemu/micro-os.ts';
import { createTestNetwork } from '../../lab/qemu/network.ts';
import { openArchiveKeys, publicArchiveKeys } from '../../site/archive-key.ts';
import { waitFor } from '../../system/wait.ts';
import { startTlsSite } from './tls-site.ts';

const CLI = join(import.meta.dirname, '../../cli/main.ts');
const WAIT = { timeoutMs: 200_000, failOn: GAVE_UP };
/** Without any the agent waits for one. */
const DISK = { bus: 'virtio', size: '64M' } as const;
const SIGNED = /^Kindling: the Micro-OS is the one this site has signed$/;
const WITHOUT_PXE = ['IPv4PXESupport', 'IPv6PXESupport'].map((name) => ({
  name: `opt/org.tianocore/${name}`,
  string: 'no',
}));

it('boots by UEFI HTTPS with the site’s own CA, and takes kernel and initramfs from another server', async () => {
  await using network = await createTestNetwork();
  const { bridge } = network;
  const storage = `http://${bridge.address(9)}:8081`;
  const site = await startTlsSite(bridge, '--https-boot', '--micro-os-url', storage);
  const shelf = join(site.state, 'shelf');
  mkdirSync(shelf);
  for (const name of ['vmlinuz-x86_64', 'initramfs-x86_64'])
    copyFileSync(join((await ensureMicroOs('minimal')).folder, name), join(shelf, name));
  const server = await bridge.addHost(9);
  server.start('busybox', ['httpd', '-f', '-p', '8081', '-h', shelf]);

  await using node = await bootMachine({
    firmware: 'ovmf',
    memoryMb: 768,
    nics: [{ model: 'virtio', network: bridge }],
    firmwareConfig: [
      ...WITHOUT_PXE,
      { name: 'etc/edk2/https/cacerts', file: join(site.stack, 'keys/tls-ca.esl') },
    ],
  });
  await node.console.waitFor(/URI: https:\/\/10\.77\.0\.1:8443\/tink-stack\/ipxe\.efi/, WAIT);
  await node.console.waitFor(/^Kindling: loading http:\/\/10\.77\.0\.9:8081\/initramfs-x86_64$/, WAIT);
  await node.console.waitFor(SIGNED, WAIT);
});

it('boots from a mirror while the orchestrator is away, and goes to the orchestrator when it is back', async () => {
  await using network = await createTestNetwork();
  const { bridge } = network;
  const site = await startTlsSite(bridge);
  const box = await bridge.addHost(3);
  const [key = ''] = publicArchiveKeys(openArchiveKeys(site.state));
  let log = '';
  const ready = Promise.withResolvers<void>();
  const mirror = box.start(
    process.execPath,
    [
      ...[CLI, 'mirror', 'http://10.77.0.1:8080/tink-stack', '--dir', join(site.state, 'mirror')],
      ...['--key', key, '--pxe', 'eth0', '--every', '2'],
    ],
    (text) => {
      log += text;
      if (log.includes('machines boot from')) ready.resolve();
    },
  );
  mirror.once('close', () => ready.reject(new Error(`kindling mirror ended: ${log}`)));
  await ready.promise;
  await site.stop();
  // A killed process is missed at once; one that went without a word, after the mirror's patience of 10 s.
  await waitFor(() => log.includes('KND_MIRROR_UNREACHABLE') || undefined, {
    name: 'the mirror to miss the orchestrator',
    timeoutMs: 60_000,
  });

  await using node = await bootMachine({
    firmware: 'ovmf',
    memoryMb: 768,
    disks: [DISK],
    nics: [{ model: 'virtio', network: bridge }],
    smbios: { serial: 'MIRRORED1', uuid: crypto.randomUUID() },
  });
  await node.console.waitFor(
    /^Kindling: net0 has .*; loading http:\/\/10\.77\.0\.3:8080\/tink-stack\/boot\.ipxe$/,
    WAIT,
  );
  await node.console.waitFor(SIGNED, WAIT);
  await site.start();
  await waitForStage(node, 'run', WAIT);
  await expect.poll(site.nodeStates, { timeout: 90_000, interval: 2000 }).toHaveLength(1);
});
