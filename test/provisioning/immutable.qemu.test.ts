import { execa } from 'execa';
import { expect, it } from 'vitest';
import { waitFor } from '../../agent/system/wait.ts';
import type { Machine } from '../../lab/qemu/machine.ts';
import { readDemoOptions } from '../../orchestrator-stub/cli/demo/demo-options.ts';
import { runDemo } from '../../orchestrator-stub/cli/demo/run-demo.ts';

/** Number of the partition that keeps what an immutable system may change. */
const STATE_PARTITION = 3;

it('an immutable system is installed by the template «microvisor», starts from its sealed root, and runs cloud-init', async () => {
  let output = '';
  let nodeId = '';
  let installed = { console: '', hostname: '', tenant: '', reported: '' };
  await runDemo(readDemoOptions({ nodes: '1', memory: '1024', immutable: true }), {
    terminal: { write: (text) => (output += text) },
    whenRunning: async ({ travellers: [traveller] }) => {
      if (!traveller) throw new Error('the demo has a node');
      nodeId = traveller.journey.id;
      await waitFor(() => output.includes('✔ boot order kept') || undefined, {
        name: 'the boot order that the installed system keeps',
        timeoutMs: 120_000,
      });
      installed = await switchOffAndRead(traveller.machine);
    },
  });
  expect(output).toMatch(/^✔ running +[\d.]+ s/m);
  // the root was opened through dm-verity, by the loader of the image
  expect(installed.console).toMatch(/device-mapper: verity: sha256 using/);
  expect(installed.console).toMatch(/BdsDxe: starting Boot[0-9A-F]{4} "Kindling"/);
  // cloud-init did what the user-data said; what it wrote lies on the state partition
  expect(installed.hostname.trim()).toBe(nodeId);
  expect(installed.tenant).toMatch(/^TENANT_ID=/);
  expect(installed.reported).toMatch(/Inode: \d+/);
}, 2_400_000);

async function switchOffAndRead(machine: Machine) {
  const { text } = machine.console;
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
    console: text,
    hostname: await read('cat /overlay/etc/upper/hostname'),
    tenant: await read('cat /overlay/etc/upper/intel_edge_node/tenantId'),
    reported: await read('stat /overlay/etc/upper/kindling/first-boot-reported'),
  };
}
