import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { encodeCpio } from '../../formats/cpio.ts';
import { enrollSiteKeys } from '../../lab/qemu/enroll-keys.ts';
import { createMachine, type Machine } from '../../lab/qemu/machine.ts';
import { createTestNetwork } from '../../lab/qemu/network.ts';
import { packConfigArchive } from '../../site/config-archive.ts';
import { signKernelAsBefore } from '../site/kernel-signed-before.ts';
import { startTlsSite } from './tls-site.ts';

/** A refusal, which elsewhere is a failure, is what is hoped for here. */
const REFUSAL = { timeoutMs: 150_000, failOn: /FOREIGN INITRAMFS RUNS/ };
const EVIL = Buffer.from('#!/bin/sh\necho FOREIGN INITRAMFS RUNS > /dev/console\n');
const SIGNED = /^Kindling: the Micro-OS is the one this site has signed$/;

// By PXE, to the orchestrator: secure-boot-pxe.long.test.ts. By HTTPS, to the installed system: provisioning/immutable.qemu.test.ts
it('S-04, S-15: from the site’s USB stick, with its keys enrolled, nothing but the site’s Micro-OS starts, whatever boot.ipxe says', async () => {
  await using lab = await startStickLab();
  const { node, at, site } = lab;
  const script = readFileSync(at('boot.ipxe'), 'utf8');
  const older = ['loader-x86_64.efi', 'config-archive.cpio'].map(
    (name) => [name, readFileSync(at(name))] as const,
  );
  const loader = readFileSync(at('loader-x86_64.efi'));
  writeFileSync(at('evil.cpio'), encodeCpio([{ type: 'file', path: 'evil', mode: 0o755, contents: EVIL }]));
  writeFileSync(at('unsigned.efi'), loader);
  await execa('sbattach', ['--remove', at('unsigned.efi')]);
  const attempt = (program: string) =>
    `imgfree\nkernel ${program} rdinit=/evil console=ttyS0 ||\ninitrd evil.cpio ||\nboot || echo ${program} was refused\n`;
  // The loader last: iPXE hands initrds out once per boot.
  const programs = ['vmlinuz-x86_64', 'kernel-of-october', 'unsigned.efi', 'loader-x86_64.efi'];
  writeFileSync(at('boot.ipxe'), `#!ipxe\n${programs.map(attempt).join('')}sleep 600\n`);
  await node.powerOn();
  await node.console.waitFor(/^KND_LOADER_REFUSED: initramfs-x86_64 is missing or cut off$/, REFUSAL);
  await node.console.waitFor(/^loader-x86_64.efi was refused$/, REFUSAL);
  const said = node.console.lines.map(({ text }) => text);
  expect(said.filter((line) => /was refused$/.test(line))).toEqual(
    programs.map((name) => `${name} was refused`),
  );
  // "Access denied", from the firmware, for all but the last.
  expect(said.filter((line) => /^Could not boot: Error 0x7f04818f/.test(line))).toHaveLength(3);

  writeFileSync(at('boot.ipxe'), script);
  flipByte(at('initramfs-x86_64'), 1_000_000);
  await restart(node);
  await node.console.waitFor(
    /^KND_LOADER_REFUSED: initramfs-x86_64 is not the one this site has signed$/,
    REFUSAL,
  );
  await node.console.waitFor(/^KND_IPXE_REFUSED: /, REFUSAL);

  flipByte(at('initramfs-x86_64'), 1_000_000);
  const foreign = generateKeyPairSync('ed25519').privateKey;
  const environment = { kindling_server: 'https://elsewhere.example' };
  const edition = { version: 1, expires: '2100-01-01T00:00:00.000Z' };
  writeFileSync(
    at('config-archive.cpio'),
    packConfigArchive({ ca: 'x'.repeat(4000), environment, site: 'elsewhere', edition }, [foreign]),
  );
  await restart(node);
  await node.console.waitFor(
    /^KND_LOADER_REFUSED: config-archive\.cpio is not the one this site has signed$/,
    REFUSAL,
  );
  expect(await site.nodeStates()).toEqual([]);

  // The right files, but a command line that would start another program and report to another server.
  await site.kindling('build', 'site', '--env', 'NOTE=newer');
  const more = 'rdinit=/bin/sh kindling.server=https://elsewhere.example';
  writeFileSync(at('boot.ipxe'), script.replace(/^imgargs .*$/m, `$& ${more}`));
  await restart(node);
  for (const argument of more.split(' '))
    await node.console.waitFor(
      new RegExp(`^KND_LOADER_IGNORED: ${argument} is no argument that this site has signed$`),
      REFUSAL,
    );
  await node.console.waitFor(SIGNED, REFUSAL);
  const { line: commandLine } = await node.console.waitFor(/Command line: /, REFUSAL);
  expect(commandLine).toContain('kindling.server=https://');
  expect(commandLine).not.toContain('rdinit=');
  expect(commandLine).not.toContain('elsewhere.example');
  await node.console.waitFor(/config archive: 5 files, signed by the site, version \d+/, REFUSAL);

  // S-15: what the site signed before, well signed as it is.
  for (const [name, contents] of older) writeFileSync(at(name), contents);
  writeFileSync(at('boot.ipxe'), script);
  await restart(node);
  await node.console.waitFor(SIGNED, REFUSAL);
  await node.console.waitFor(/KINDLING-FATAL .*KND_ARCHIVE_OLD/, REFUSAL);
});

/** A site, and a machine that boots from the site's USB stick; it is still off. */
async function startStickLab() {
  await using started = new AsyncDisposableStack();
  const network = started.use(await createTestNetwork());
  const site = await startTlsSite(network.bridge, '--kernel-arg', 'ignore_loglevel');
  const at = (name: string) => join(site.stack, name);
  const stick = join(site.state, 'usb.img');
  writeFileSync(at('kernel-of-october'), await signKernelAsBefore(site.state)); // this build revokes it
  await site.kindling('build', 'site', '--usb-image', stick);
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
  return { node, site, at, [Symbol.asyncDispose]: () => running.disposeAsync() };
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
