import { parseArgs } from 'node:util';
import { KindlingError } from '../../protocol/error.ts';
import { type KernelArguments, parseKernelArguments } from '../../system/kernel-arguments.ts';
import { type MachineFiles, machineFiles } from '../../system/machine-files.ts';
import { describeIdentity } from '../identity/describe.ts';
import { identify } from '../identity/identify.ts';
import { describeInventory } from './describe.ts';
import { takeInventory } from './take-inventory.ts';

/** `kindling-agent identify [--output json|table]` */
export async function identifyCommand(args: string[]): Promise<number> {
  const { files, kernelArguments, output } = readArguments('identify', args);
  const identity = identify(files, kernelArguments);
  print(output === 'json' ? JSON.stringify(identity, undefined, 2) : describeIdentity(identity));
  return 0;
}

/** `kindling-agent inventory [--output json|table]` */
export async function inventoryCommand(args: string[]): Promise<number> {
  const { files, kernelArguments, output } = readArguments('inventory', args);
  const inventory = await takeInventory(files, kernelArguments);
  print(
    output === 'json'
      ? JSON.stringify(inventory, undefined, 2)
      : `${describeIdentity(inventory.identity)}\n${describeInventory(inventory)}`,
  );
  return 0;
}

function readArguments(
  command: string,
  args: string[],
): { files: MachineFiles; kernelArguments: KernelArguments; output: 'json' | 'table' } {
  const usage = `kindling-agent ${command} [--output json|table] [--root <folder>]`;
  const parse = () =>
    parseArgs({ args, options: { output: { type: 'string' }, root: { type: 'string' } } }).values;
  let values: ReturnType<typeof parse>;
  try {
    values = parse();
  } catch (cause) {
    throw new KindlingError('KND_USAGE', `${(cause as Error).message}`, { hint: usage });
  }
  const { output = 'table', root = '/' } = values;
  if (output !== 'json' && output !== 'table') {
    throw new KindlingError('KND_USAGE', `--output is json or table, not "${output}"`, { hint: usage });
  }
  const files = machineFiles(root);
  return { files, kernelArguments: parseKernelArguments(files.text('/proc/cmdline') ?? ''), output };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
