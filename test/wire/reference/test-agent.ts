import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConfigSources, resolveConfig } from '../../../agent/config/resolve-config.ts';
import type { AgentStatus } from '../../../agent/report/reporting.ts';
import { type AgentOptions, runAgent } from '../../../agent/run-agent.ts';
import type { Executed, ExecuteOptions, Executor } from '../../../agent/workflow/executor.ts';
import type { Work } from '../../../agent/workflow/work.ts';
import type { HandOver } from '../../../protocol/action-events.ts';
import { toNodeId } from '../../../protocol/ids.ts';
import type { Inventory } from '../../../protocol/inventory.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';

export const MAC = '52:54:00:12:34:56';
export const UUID = '4c4c4544-0035-3010-8056-b7c04f4a5931';

const inventory: Inventory = {
  identity: {
    uuid: UUID,
    serial: '5VJ0X13',
    macs: [MAC],
    bootMac: MAC,
    nodeId: toNodeId('node-1'),
    manufacturer: 'Dell Inc.',
    product: 'PowerEdge R650',
    evidence: [{ field: 'serial', value: '5VJ0X13', score: 80, reason: 'as found' }],
  },
  cpu: {
    model: 'EPYC',
    vendor: 'AMD',
    architecture: 'x86_64',
    sockets: 1,
    cores: 8,
    threads: 16,
    flags: ['nx'],
  },
  memory: { totalBytes: 16 * 1024 ** 3, modules: [] },
  disks: [],
  nics: [],
  pci: [],
  firmware: { kind: 'uefi', secureBoot: 'off' },
};

/** What an action of a test does: by default it succeeds at once. `reboot` hands over. */
export type Script = (
  work: Work,
  run: number,
  onProgress: ExecuteOptions['onProgress'],
) => Promise<Executed> | Executed;

export interface TestAgent {
  folder: string;
  executed: string[];
  statuses: AgentStatus[];
  lines: string[];
  handedOver: HandOver[];
  /** Resolves when the agent has ended by itself. */
  ended: Promise<void>;
  /** Kills it: aborts everything, as far as a process can abort itself. */
  stop(): Promise<void>;
}

export interface TestAgentOptions {
  env?: Record<string, string>;
  kernel?: string;
  flags?: Record<string, string>;
  script?: Script;
  mayRunAgain?: boolean;
  /** Folder of an earlier agent, to be its successor. */
  folder?: string;
  ca?: string;
  /** Who it is, where there are several. */
  identity?: Partial<Inventory['identity']>;
  inventory?: Partial<Inventory>;
  options?: Partial<AgentOptions>;
}

/** An agent in this process, with everything real but the actions and the machine. */
export function startTestAgent(setup: TestAgentOptions): TestAgent {
  const folder = setup.folder ?? mkdtempSync(join(tmpdir(), 'kindling-wire-'));
  if (setup.ca !== undefined) writeFileSync(join(folder, 'ca.pem'), setup.ca);
  const flags: Record<string, string> = {
    'worker-id': MAC,
    'credentials-folder': join(folder, 'credentials'),
    'state-folder': join(folder, 'state'),
    'poll-interval': '20ms',
    once: 'true',
    ...(setup.ca === undefined ? {} : { 'ca-certificate': join(folder, 'ca.pem') }),
    ...setup.flags,
  };
  const sources: ConfigSources = {
    flags: Object.entries(flags).map(([name, value]) => ({ name, value })),
    kernel: parseKernelArguments(setup.kernel ?? ''),
    env: [{ file: 'env_config', values: setup.env ?? {} }],
  };
  const stop = new AbortController();
  const executed: string[] = [];
  const statuses: AgentStatus[] = [];
  const lines: string[] = [];
  const handedOver: HandOver[] = [];
  const executor: Executor = {
    mayRunAgain: () => setup.mayRunAgain ?? true,
    async execute(work, { onProgress }) {
      executed.push(work.name);
      const count = executed.filter((name) => name === work.name).length;
      if (setup.script) return setup.script(work, count, onProgress);
      return { state: 'success', message: `${work.name} done`, ...rebootIf(work) };
    },
  };
  const ended = runAgent({
    resolved: resolveConfig(sources),
    takeInventory: async () => ({
      ...inventory,
      ...setup.inventory,
      identity: { ...inventory.identity, ...setup.identity },
    }),
    readAttributes: () => ({
      cpu: { totalCores: 8, totalThreads: 16 },
      memory: { total: '16GB' },
      product: { name: 'PowerEdge R650', serialNumber: '5VJ0X13' },
    }),
    signal: stop.signal,
    executor,
    openConsoles: () => [],
    handOver: async (how) => {
      handedOver.push(how);
    },
    onStatus: (status) => statuses.push(status),
    onHumanLine: (line) => lines.push(line),
    pace: 0.02,
    ...setup.options,
  });
  ended.catch(() => {});
  return {
    folder,
    executed,
    statuses,
    lines,
    handedOver,
    ended,
    async stop() {
      stop.abort(new Error('stopped by the test'));
      await ended.catch(() => {});
    },
  };
}

function rebootIf({ name }: Work): { handOver?: HandOver } {
  return name === 'reboot' ? { handOver: { kind: 'reboot' } } : {};
}

export function removeFolder({ folder }: TestAgent): void {
  rmSync(folder, { recursive: true, force: true });
}

/** The codes the agent has shown while waiting, in order, without repeats. */
export function shownCodes({ statuses }: TestAgent): string[] {
  const codes = statuses.flatMap(({ error }) => (error ? [error.code as string] : []));
  return codes.filter((code, index) => code !== codes[index - 1]);
}
