import { parseKernelArguments } from '../system/kernel-arguments.ts';
import { machineFiles } from '../system/machine-files.ts';
import { readAttributes } from './attributes/read-attributes.ts';
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
  const resolved = loadConfig(args);
  const kernelArguments = parseKernelArguments(files.text('/proc/cmdline') ?? '');
  await runAgent({
    resolved,
    takeInventory: () => takeInventory(files, kernelArguments, resolved.config),
    readAttributes: () => readAttributes(files),
    signal: stop.signal,
    onHumanLine: (line) => process.stderr.write(`${line}\n`),
  }).catch((error: unknown) => {
    // Someone asked it to end: that is no failure, whatever it was waiting for.
    if (!stop.signal.aborted) throw error;
  });
  return 0;
}
