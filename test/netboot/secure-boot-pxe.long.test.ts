import { join } from 'node:path';
import { expect, it } from 'vitest';
import { enrollSiteKeys } from '../../lab/qemu/enroll-keys.ts';
import { bootMachine } from '../../lab/qemu/machine.ts';
import { GAVE_UP, waitForStage } from '../../lab/qemu/micro-os.ts';
import { createTestNetwork } from '../../lab/qemu/network.ts';
import { startTlsSite } from './tls-site.ts';

const WAIT = { timeoutMs: 150_000, failOn: GAVE_UP };
const SIGNED = /^Kindling: the Micro-OS is the one this site has signed$/;

// By HTTPS, to the installed system: provisioning/immutable.qemu.test.ts
it('with the site’s keys enrolled a machine boots by PXE from iPXE to the orchestrator, every part of it signed', async () => {
  await using network = await createTestNetwork();
  const site = await startTlsSite(network.bridge, '--kernel-arg', 'ignore_loglevel');
  const variables = join(site.state, 'enrolled.fd');
  enrollSiteKeys(join(site.stack, 'keys'), variables);
  await using node = await bootMachine({
    firmware: 'ovmf-secure-boot',
    efiVariables: { file: variables },
    memoryMb: 768,
    disks: [{ bus: 'virtio', size: '64M' }], // without any the agent waits for one
    nics: [{ model: 'virtio', network: network.bridge }],
    smbios: { serial: 'SIGNED-1', uuid: crypto.randomUUID() },
  });
  await node.console.waitFor(SIGNED, WAIT);
  await node.console.waitFor(/secureboot: Secure boot enabled/, WAIT);
  await node.console.waitFor(/config archive: 5 files, signed by the site/, WAIT);
  await waitForStage(node, 'run', WAIT);
  // The server speaks TLS only, with the CA of the archive: it knows the node, so the archive was used.
  await expect.poll(site.nodeStates, { timeout: 60_000, interval: 2000 }).toHaveLength(1);
});
