import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { enrollSiteKeys } from '../../lab/qemu/enroll-keys.ts';
import { bootMachine, createMachine, type Machine } from '../../lab/qemu/machine.ts';
import { GAVE_UP, waitForStage } from '../../lab/qemu/micro-os.ts';
import { createTestNetwork } from '../../lab/qemu/network.ts';
import { packConfigArchive } from '../../site/config-archive.ts';
import { startTlsSite } from './tls-site.ts';

const WAIT = { timeoutMs: 150_000, failOn: GAVE_UP };
const SIGNED = /^Kindling: the Micro-OS is the one this site has signed$/;

it('with the site’s keys enrolled a machine boots by PXE from iPXE to the orchestrator, every part of it signed', async () => {
  await using network = await createTestNetwork();
  using site = await startTlsSite(network.bridge, '--kernel-arg', 'ignore_loglevel');
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

describe('from the site’s USB stick, with its keys enrolled', () => {
  it('an unsigned loader is refused by the firmware, a changed initramfs by the loader; with the right ones it boots', async () => {
    await using lab = await startStickLab();
    const { node, at, good } = lab;
    await execa('sbattach', ['--remove', at('loader-x86_64.efi')]);
    await node.powerOn();
    await node.console.waitFor(/^Could not boot: Error 0x7f04818f/, WAIT);
    await node.console.waitFor(/^KND_IPXE_REFUSED: /, WAIT);

    copyFileSync(good('loader-x86_64.efi'), at('loader-x86_64.efi'));
    flipByte(at('initramfs-x86_64'), 1_000_000);
    await restart(node);
    await node.console.waitFor(
      /^KND_LOADER_REFUSED: initramfs-x86_64 is not the one this site has signed$/,
      WAIT,
    );
    await node.console.waitFor(/^KND_IPXE_REFUSED: /, WAIT);

    flipByte(at('initramfs-x86_64'), 1_000_000);
    await restart(node);
    await node.console.waitFor(SIGNED, WAIT);
  });

  it('a changed config archive is refused, and so is another site’s', async () => {
    await using lab = await startStickLab();
    const { node, at, site } = lab;
    flipByte(at('config-archive.cpio'), 300);
    await node.powerOn();
    await node.console.waitFor(
      /^KND_LOADER_REFUSED: config-archive\.cpio is not the one this site has signed$/,
      WAIT,
    );

    const foreign = generateKeyPairSync('ed25519').privateKey;
    const environment = { kindling_server: 'https://elsewhere.example' };
    writeFileSync(
      at('config-archive.cpio'),
      packConfigArchive({ ca: 'x'.repeat(4000), environment }, [foreign]),
    );
    await restart(node);
    await node.console.waitFor(
      /^KND_LOADER_REFUSED: config-archive\.cpio is not the one this site has signed$/,
      WAIT,
    );
    expect(await site.nodeStates()).toEqual([]);
  });
});

/** A site, and a machine that boots from the site's USB stick; it is still off. */
async function startStickLab() {
  await using started = new AsyncDisposableStack();
  const network = started.use(await createTestNetwork());
  const site = started.use(await startTlsSite(network.bridge));
  const at = (name: string) => join(site.stack, name);
  const good = (name: string) => join(site.state, `good-${name}`);
  const stick = join(site.state, 'usb.img');
  await site.kindling('build', 'site', '--usb-image', stick);
  copyFileSync(at('loader-x86_64.efi'), good('loader-x86_64.efi'));
  const variables = join(site.state, 'enrolled.fd');
  enrollSiteKeys(at('keys'), variables);
  const node = started.use(
    await createMachine({
      firmware: 'ovmf-secure-boot',
      efiVariables: { file: variables },
      memoryMb: 768,
      disks: [{ bus: 'usb', file: stick, copy: true, removable: true }],
      nics: [{ model: 'virtio', network: network.bridge }],
    }),
  );
  const running = started.move();
  return { node, site, at, good, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

async function restart(node: Machine): Promise<void> {
  await node.powerCut();
  await node.powerOn();
}

function flipByte(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}
