import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { enrolSiteKeys } from '../../../lab/qemu/enrol-keys.ts';
import { bootMachine, type Machine } from '../../../lab/qemu/machine.ts';
import { waitForStage } from '../../../lab/qemu/micro-os.ts';
import { createTestNetwork } from '../../../lab/qemu/network.ts';
import { startTlsSite } from './tls-site.ts';

const WAIT = { timeoutMs: 150_000, failOn: /KINDLING-FATAL/ };
const SIGNED = /^Kindling: the Micro-OS is the one this site has signed$/;

it('with the site’s keys enrolled a machine boots by PXE from iPXE to the orchestrator, every part of it signed', async () => {
  await using network = await createTestNetwork();
  using site = await startTlsSite(network.bridge, '--kernel-arg', 'ignore_loglevel');
  const variables = join(site.state, 'enrolled.fd');
  enrolSiteKeys(join(site.stack, 'keys'), variables);
  await using node = await bootMachine({
    firmware: 'ovmf-secure-boot',
    efiVariables: { file: variables },
    memoryMb: 768,
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

it('from the site’s USB stick: what is unsigned, tampered with or another site’s is refused, each with its reason', async () => {
  await using network = await createTestNetwork();
  using site = await startTlsSite(network.bridge);
  const at = (name: string) => join(site.stack, name);
  const variables = join(site.state, 'enrolled.fd');
  enrolSiteKeys(at('keys'), variables);
  const stick = join(site.state, 'usb.img');
  await site.kindling('build', 'site', '--usb-image', stick);
  const foreign = join(site.state, 'foreign');
  const elsewhere = ['--url', 'http://10.99.0.1/tink-stack', '--server', 'https://10.99.0.1:8443'];
  const kept = JSON.parse(readFileSync(join(site.state, 'boot-files.json'), 'utf8')) as {
    microOsFolder: string;
  };
  await execa(process.execPath, [
    ...[join(import.meta.dirname, '../../../orchestrator-stub/cli/main.ts'), 'build', 'site'],
    ...['--state', foreign, '--micro-os', kept.microOsFolder, ...elsewhere],
  ]);
  const good = (name: string) => join(site.state, `good-${name}`);
  for (const name of ['loader-x86_64.efi', 'initramfs-x86_64', 'config-archive.cpio'])
    copyFileSync(at(name), good(name));

  await execa('sbattach', ['--remove', at('loader-x86_64.efi')]);
  await using node = await bootMachine({
    firmware: 'ovmf-secure-boot',
    efiVariables: { file: variables },
    memoryMb: 768,
    disks: [{ bus: 'usb', file: stick, copy: true, removable: true }],
    nics: [{ model: 'virtio', network: network.bridge }],
  });
  await node.console.waitFor(/^Could not (?:boot|select)[^\n]*0x7f04[^\n]*\)$/, WAIT);
  await node.console.waitFor(/^KND_IPXE_(?:REFUSED|LOAD_FAILED):/, WAIT);
  copyFileSync(good('loader-x86_64.efi'), at('loader-x86_64.efi'));

  flipByte(at('initramfs-x86_64'), 1_000_000);
  await restart(node);
  await node.console.waitFor(
    /^KND_LOADER_REFUSED: initramfs-x86_64 is not the one this site has signed$/,
    WAIT,
  );
  await node.console.waitFor(/^KND_IPXE_REFUSED:/, WAIT);
  copyFileSync(good('initramfs-x86_64'), at('initramfs-x86_64'));

  flipByte(at('config-archive.cpio'), 300);
  await restart(node);
  await node.console.waitFor(
    /^KND_LOADER_REFUSED: config-archive\.cpio is not the one this site has signed$/,
    WAIT,
  );

  copyFileSync(join(foreign, 'tink-stack/config-archive.cpio'), at('config-archive.cpio'));
  await restart(node);
  await node.console.waitFor(/^KND_LOADER_REFUSED: config-archive\.cpio is (?:not|missing)/, WAIT);

  copyFileSync(good('config-archive.cpio'), at('config-archive.cpio'));
  await restart(node);
  await node.console.waitFor(SIGNED, WAIT);
});

async function restart(node: Machine): Promise<void> {
  await node.powerCut();
  await node.powerOn();
}

function flipByte(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}
