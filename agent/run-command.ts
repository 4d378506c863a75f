import { parseKernelArguments } from '../system/kernel-arguments.ts';
import { machineFiles } from '../system/machine-files.ts';
import { loadConfig } from './config/load-config.ts';
import { takeInventory } from './inventory/take-inventory.ts';
import { runAgent } from './run-agent.ts';

/** `kindling-agent run`: the agent proper, on a machine whose network is up. */
export async function runCommand(args: string[]): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
  }
  const files = machineFiles();
  await runAgent({
    resolved: loadConfig(args),
    takeInventory: () => takeInventory(files, parseKernelArguments(files.text('/proc/cmdline') ?? '')),
    signal: stop.signal,
    onHumanLine: (line) => process.stderr.write(`${line}\n`),
  });
  return 0;
}
