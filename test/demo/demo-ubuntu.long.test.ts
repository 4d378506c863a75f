import { readFileSync, rmSync } from 'node:fs';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { readDemoOptions } from '../../demo/demo-options.ts';
import { runDemo } from '../../demo/run-demo.ts';
import { STAGES } from '../../demo/stages.ts';
import { bootOrder } from '../../lab/qemu/efi-variables.ts';
import type { Machine } from '../../lab/qemu/machine.ts';
import { leftovers } from '../../lab/qemu/processes.ts';
import { type Inside, lookInside, whatItSaw } from '../provisioning/look-inside.ts';

/** Where the root of the target image starts: the ESP before it has 48 MiB. */
const ROOT_OFFSET = 49 * 2 ** 20;

// The same by HTTPS, with Secure Boot, to an immutable system: provisioning/immutable.qemu.test.ts
it('npm run demo: an empty machine becomes a running node, template ubuntu: every stage is shown, drawn, and true', async () => {
  let output = '';
  let nodeId = '';
  let inside: Partial<Inside> = {};
  let installed = { reported: '', blocks: 0, bootOrder: [''] };
  await runDemo(readDemoOptions({ nodes: '1', memory: '1024', picture: 'build/demo-test.svg' }), {
    terminal: { write: (text) => (output += text) },
    profile: { customConfigs: [lookInside()] },
    whenRunning: async ({ travelers: [traveler] }) => {
      if (!traveler) throw new Error('the demo has a node');
      nodeId = traveler.journey.id;
      inside = await whatItSaw(traveler.machine);
      installed = await switchOffAndRead(traveler.machine);
    },
  });
  for (const { title } of STAGES) expect(output).toMatch(new RegExp(`^✔ ${title} +[\\d.]+ s`, 'm'));
  expect(output).toMatch(/power-on to report +[\d.]+ s/);
  expect(output).toMatch(new RegExp(`its page: http://127.0.0.1:\\d+/nodes/${nodeId}`));
  expect(readFileSync('build/demo-test.svg', 'utf8')).toContain('✔');
  rmSync('build/demo-test.svg');
  // cloud-init did what the user-data said, and the root has grown to the disk (1 KiB blocks)
  expect(inside).toMatchObject({
    hostname: nodeId,
    root: expect.stringMatching(/ rw$/),
    secureBoot: '0',
    tenant: expect.stringMatching(/^TENANT_ID=./),
    tracebacks: '0',
  });
  expect(installed.reported).toMatch(/Inode: \d+/);
  expect(installed.blocks).toBeGreaterThan(1_500_000);
  // the installed system leads the boot order, and the network comes next
  expect(installed.bootOrder[0]).toBe('Kindling');
  expect(installed.bootOrder[1]).toMatch(/PXEv4/);
  expect(leftovers()).toEqual([]);
}, 1_200_000);

async function switchOffAndRead(machine: Machine) {
  await machine.qmp.execute('system_powerdown');
  await machine.waitForPowerOff({ timeoutMs: 120_000 });
  const disk = `${machine.disks[0]?.path}?offset=${ROOT_OFFSET}`;
  const read = async (command: string) => (await execa('debugfs', ['-R', command, disk])).stdout;
  return {
    reported: await read('stat /etc/kindling/first-boot-reported'),
    blocks: Number(/Block count:\s+(\d+)/.exec(await read('show_super_stats -h'))?.[1]),
    bootOrder: bootOrder(machine.efiVariables()).map(({ description }) => description),
  };
}
