import { join } from 'node:path';
import { resolveConfig } from '../../agent/config/resolve-config.ts';
import { runAgent } from '../../agent/run-agent.ts';
import type { Executor } from '../../agent/workflow/executor.ts';
import { toNodeId } from '../../protocol/ids.ts';
import type { Inventory } from '../../protocol/inventory.ts';
import { parseKernelArguments } from '../../system/kernel-arguments.ts';
import { pause } from '../../system/wait.ts';
import { type AgentsFigures, type AgentsOrder, nodeOf } from './messages.ts';
import { watchRequests } from './watch-requests.ts';

// Agents without a machine: everything real but inventory and actions, which succeed at once.
const order = JSON.parse(process.argv[2] ?? '') as AgentsOrder;
/** A thousand machines that get power in the same moment still reach their agents over half a minute. */
const START_EVERY_MS = 40;
const watch = watchRequests();
const idle = new Set<number>();
const failed: string[] = [];
const lastStatus = new Map<number, string>();
let finished = 0;

const executor: Executor = {
  mayRunAgain: () => true,
  execute: async ({ name }) => ({
    state: 'success',
    message: `${name} done`,
    ...(name === 'reboot' ? { handOver: { kind: 'reboot' as const } } : {}),
  }),
};

process.on('disconnect', () => process.exit()); // the benchmark that asked for the figures is gone
process.on('message', () => {
  const figures: AgentsFigures = {
    kind: 'agents',
    idle: idle.size,
    finished,
    failed,
    states: [...Map.groupBy(lastStatus.values(), (text) => text.replace(/\d+/g, 'n'))].map(
      ([text, agents]) => `${agents.length} × ${text}`,
    ),
    ...watch.take(),
  };
  process.send?.(figures);
});

for (let index = order.firstIndex; index < order.firstIndex + order.count; index += 1) {
  void startAgent(index);
  await pause(START_EVERY_MS);
}

async function startAgent(index: number): Promise<void> {
  const { uuid, mac } = nodeOf(index);
  const folder = join(order.folder, `node-${index}`);
  const flags = {
    server: order.server,
    'ca-certificate': order.caFile,
    'worker-id': mac,
    uuid,
    'credentials-folder': folder,
    'state-folder': folder,
    interactive: 'false',
  };
  try {
    await runAgent({
      resolved: resolveConfig({
        flags: Object.entries(flags).map(([name, value]) => ({ name, value })),
        kernel: parseKernelArguments(''),
        env: [],
      }),
      takeInventory: async () => inventoryOf(uuid, mac),
      readAttributes: () => ({}),
      executor,
      openConsoles: () => [],
      handOver: async () => {},
      onStatus: ({ text, error }) => {
        lastStatus.set(index, error ? `${error.code}: ${error.message}` : text);
        if (text === 'waiting for a workflow') idle.add(index);
        // GetAction is held by the server: an agent that asks in that dialect is idle, too.
        if (text === 'asking for work' && order.dialect === 'tink-current') idle.add(index);
      },
    });
    finished += 1;
  } catch (error) {
    failed.push(String(error));
  }
}

function inventoryOf(uuid: string, mac: string): Inventory {
  return {
    identity: { uuid, macs: [mac], bootMac: mac, nodeId: toNodeId(`node-${mac}`), evidence: [] },
    cpu: { model: 'simulated', architecture: 'x86_64', sockets: 1, cores: 4, threads: 8, flags: [] },
    memory: { totalBytes: 8 * 2 ** 30, modules: [] },
    disks: [],
    nics: [],
    pci: [],
    firmware: { kind: 'uefi', secureBoot: 'off' },
  };
}
