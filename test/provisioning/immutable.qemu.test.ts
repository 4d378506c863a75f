import { readFileSync, rmSync } from 'node:fs';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { readDemoOptions } from '../../demo/demo-options.ts';
import { runDemo } from '../../demo/run-demo.ts';
import { STAGES } from '../../demo/stages.ts';
import { bootOrder } from '../../lab/qemu/efi-variables.ts';
import type { Machine } from '../../lab/qemu/machine.ts';
import { leftovers } from '../../lab/qemu/processes.ts';
import { type Inside, lookInside, whatItSaw } from './look-inside.ts';

/** Number of the partition that keeps what an immutable system may change. */
const STATE_PARTITION = 3;
const PICTURE = 'build/immutable-test.svg';
const OPTIONS = {
  nodes: '1',
  memory: '1024',
  immutable: true,
  secureBoot: true,
  httpsBoot: true,
  picture: PICTURE,
};

// Mutable, by PXE: demo/demo-ubuntu.long.test.ts
it('the demo, by HTTPS and with Secure Boot: every stage is shown, drawn, and true; an immutable system is installed, starts from its sealed root, and runs cloud-init', async () => {
  let output = '';
  let nodeId = '';
  let inside: Partial<Inside> = {};
  let console = '';
  let kept = { hostname: '', reported: '', bootOrder: [''] };
  await runDemo(readDemoOptions(OPTIONS), {
    terminal: { write: (text) => (output += text) },
    profile: { customConfigs: [lookInside('https://10.77.0.1:8443/tink-stack/boot.ipxe')] },
    whenRunning: async ({ travelers: [traveler] }) => {
      if (!traveler) throw new Error('the demo has a node');
      nodeId = traveler.journey.id;
      inside = await whatItSaw(traveler.machine);
      kept = await switchOffAndRead(traveler.machine);
      console = traveler.machine.console.text;
    },
  });
  expect(output).toMatch(/^✔ iPXE +[\d.]+ s +ipxe\.efi, .* over HTTPS$/m);
  for (const { title } of STAGES) expect(output).toMatch(new RegExp(`^✔ ${title} +[\\d.]+ s`, 'm'));
  expect(output).toMatch(/power-on to report +[\d.]+ s/);
  expect(output).toMatch(new RegExp(`its page: http://127.0.0.1:\\d+/nodes/${nodeId}`));
  expect(readFileSync(PICTURE, 'utf8')).toContain('✔');
  rmSync(PICTURE);
  // signed from the firmware on, checked by the workflow, and started by the loader of the image
  expect(console).toMatch(/^Kindling: the Micro-OS is the one this site has signed$/m);
  expect(console).toMatch(/config archive: \d+ files, signed by the site/);
  expect(console).toContain('Secure Boot Status MATCH');
  expect(console).toMatch(/BdsDxe: starting Boot[0-9A-F]{4} "Kindling"/);
  // cloud-init did what the user-data said
  expect(inside).toEqual({
    hostname: nodeId,
    root: '/dev/mapper/rootfs ro',
    verity: expect.stringMatching(/^0 \d+ verity V$/),
    secureBoot: '1',
    tenant: expect.stringMatching(/^TENANT_ID=./),
    fetchedByTls: '200',
    tracebacks: '0',
  });
  // what it wrote lies on the state partition
  expect(kept.hostname.trim()).toBe(nodeId);
  expect(kept.reported).toMatch(/Inode: \d+/);
  // the installed system leads the boot order, and the network comes next
  expect(kept.bootOrder[0]).toBe('Kindling');
  expect(kept.bootOrder[1]).toMatch(/HTTPv4/);
  expect(leftovers()).toEqual([]);
}, 1_500_000);

async function switchOffAndRead(machine: Machine) {
  await machine.qmp.execute('system_powerdown');
  await machine.waitForPowerOff({ timeoutMs: 240_000 });
  const disk = machine.disks[0]?.path ?? '';
  const table = JSON.parse((await execa('sfdisk', ['--json', disk])).stdout) as {
    partitiontable: { partitions: { node: string; start: number }[] };
  };
  const state = table.partitiontable.partitions.find(({ node }) => node === `${disk}${STATE_PARTITION}`);
  const place = `${disk}?offset=${(state?.start ?? 0) * 512}`;
  const read = async (command: string) => (await execa('debugfs', ['-R', command, place])).stdout;
  return {
    hostname: await read('cat /overlay/etc/upper/hostname'),
    reported: await read('stat /overlay/etc/upper/kindling/first-boot-reported'),
    bootOrder: bootOrder(machine.efiVariables()).map(({ description }) => description),
  };
}
