import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { resolveConfig } from '../agent/config/resolve-config.ts';
import type { ProvableMachine } from '../agent/onboarding/prove-machine.ts';
import { runAgent } from '../agent/run-agent.ts';
import { fetchText } from '../net/http.ts';
import { describeError, KindlingError } from '../protocol/error.ts';
import { parseKernelArguments } from '../system/kernel-arguments.ts';
import { pause } from '../system/wait.ts';
import { type Defect, defectOf } from './plan-action.ts';
import { simulatedExecutor } from './simulated-executor.ts';
import { type SimulatedMachine, simulatedInventory, simulatedMachine } from './simulated-machine.ts';

export interface Simulation {
  /** The orchestrator, and a file with its CA. */
  server: string;
  caFile?: string;
  ca?: string;
  /** Where agents keep their credentials and journals. */
  folder: string;
  count: number;
  /** How many of them have a defect. */
  failing: number;
  speed: number;
  signal: AbortSignal;
  say: (line: string) => void;
}

/** Somebody switches them on, one after the other. */
const SWITCH_ON_MS = 150;
const FIRMWARE_SECONDS = 8;
const FIRST_BOOT_SECONDS = 20;
/** The TPM of this computer is not that of a simulated machine. */
const WITHOUT_TPM: ProvableMachine = {
  openTpm: async () => {
    throw new KindlingError('KND_TPM_NONE', 'a simulated machine has no TPM');
  },
  eventLog: () => undefined,
};
/** In cloud-init, where the installed system would find it. */
const FIRST_BOOT_ADDRESS = /https?:\/\/[^\s"']+\/api\/v1\/first-boot\/[A-Za-z0-9_-]+/;

/** The machines of a fleet, with their defects. */
export function machinesOf({ count, failing }: Pick<Simulation, 'count' | 'failing'>) {
  return Array.from({ length: count }, (_, number) => ({
    ...simulatedMachine(number),
    number,
    defect: defectOf(number, { count, failing }),
  }));
}

/** Switches a fleet on. Ends when every machine has ended its work, or with the signal. */
export async function simulate(simulation: Simulation): Promise<void> {
  const running: Promise<void>[] = [];
  for (const machine of machinesOf(simulation)) {
    if (simulation.signal.aborted) break;
    running.push(live(machine, simulation).catch((thrown) => tell(thrown, machine, simulation)));
    await pause(SWITCH_ON_MS / simulation.speed, simulation.signal).catch(() => {});
  }
  await Promise.all(running);
}

/** 1 firmware  2 the agent in the Micro-OS, until it hands over  3 the first boot of what it installed */
async function live(
  machine: SimulatedMachine & { number: number; defect: Defect | undefined },
  simulation: Simulation,
): Promise<void> {
  const { speed, signal, ca } = simulation;
  const pace = 1 + ((machine.number * 7) % 10) / 20;
  await pause((FIRMWARE_SECONDS * 1000 * pace) / speed, signal);
  let firstBootAddress: string | undefined;
  await runAgent({
    resolved: configOf(machine, simulation),
    takeInventory: async () => simulatedInventory(machine),
    readAttributes: () => ({}),
    executor: simulatedExecutor({
      pace,
      defect: machine.defect,
      speed,
      onWork: ({ environment }) => {
        firstBootAddress =
          FIRST_BOOT_ADDRESS.exec(Object.values(environment).join('\n'))?.[0] ?? firstBootAddress;
      },
    }),
    openConsoles: () => [],
    machine: WITHOUT_TPM,
    handOver: async () => {},
    signal,
  });
  await pause((FIRST_BOOT_SECONDS * 1000 * pace) / speed, signal);
  if (firstBootAddress === undefined) return;
  const report = { hostname: machine.name, kernel: 'simulated', cloudInit: 'done' };
  const network = ca === undefined ? {} : { trust: createSecureContext({ ca }) };
  const { status, body } = await fetchText(network, new URL(firstBootAddress), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(report),
    code: 'KND_STUB_UNREACHABLE',
    signal,
  });
  if (status >= 400) throw new KindlingError('KND_STUB_UNREACHABLE', `the first boot was refused: ${body}`);
}

function configOf(
  { uuid, serial, mac, number }: SimulatedMachine & { number: number },
  simulation: Simulation,
) {
  const folder = join(simulation.folder, `machine-${number}`);
  const flags = {
    server: simulation.server,
    ...(simulation.caFile === undefined ? {} : { 'ca-certificate': simulation.caFile }),
    'worker-id': mac,
    uuid,
    serial,
    'credentials-folder': folder,
    'state-folder': folder,
    interactive: 'false',
  };
  return resolveConfig({
    flags: Object.entries(flags).map(([name, value]) => ({ name, value })),
    kernel: parseKernelArguments(''),
    env: [],
  });
}

function tell(thrown: unknown, { name }: SimulatedMachine, { signal, say }: Simulation): void {
  if (!signal.aborted) say(`${name}: ${describeError(thrown)}`);
}
