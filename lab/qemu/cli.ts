import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describeError, KindlingError, toKindlingError } from '../../protocol/error.ts';
import { onEndSignal } from '../../system/end-signal.ts';
import { parseQemuArguments, type QemuCommand, USAGE } from './cli-arguments.ts';
import { bootMachine, type Machine } from './machine.ts';
import { actionCommandLine, fitsKernelLine, microOsKernel } from './micro-os.ts';

const LEAVE_KEY = '\x1d'; // Ctrl-]

/** 1 read the arguments  2 build the Micro-OS  3 boot  4 show the console  5 the result decides the exit code */
async function main(args: string[]): Promise<number> {
  const command = parseQemuArguments(args);
  if (command === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  const kernel = await microOsKernel({ profile: command.profile, cmdline: commandLine(command) });
  if (!fitsKernelLine(kernel.cmdline ?? '')) {
    throw new KindlingError(
      'KND_USAGE',
      'the variables are too long for the kernel command line (2,048 bytes)',
      {
        hint: 'Serve long values from a URL that the action fetches.',
      },
    );
  }
  const stopped = Promise.withResolvers<void>();
  onEndSignal(() => stopped.resolve());
  await using machine = await bootMachine({ ...command.machine, kernel });
  void stopped.promise.then(() => machine.powerCut());
  try {
    return command.action === undefined ? await talk(machine) : await runAction(machine, command);
  } finally {
    if (command.keepDisks) await keepDisks(machine);
  }
}

function commandLine(command: QemuCommand): string {
  const what =
    command.action === undefined ? 'kindling.debug' : actionCommandLine(command.action, command.variables);
  return `${what} ${command.append}`.trim();
}

/** Shows the console until the action's result is there; the result's exit code is ours. */
async function runAction(machine: Machine, command: QemuCommand): Promise<number> {
  machine.console.onLine(({ text, atMs }) =>
    console.error(`${(atMs / 1000).toFixed(1).padStart(6)} │ ${text}`),
  );
  const { groups } = await machine.console.waitFor(/KINDLING-RESULT (\{.*"uptime":[\d.]+\})/, {
    timeoutMs: command.timeoutMs,
  });
  const result = JSON.parse(groups[1] ?? '{}') as { exitCode?: number };
  await machine.waitForPowerOff();
  console.log(JSON.stringify(result, null, 2));
  return result.exitCode ?? 1;
}

/** Connects this terminal with the machine's console. */
async function talk(machine: Machine): Promise<number> {
  const { stdin, stdout } = process;
  console.error('The console of the machine. Ctrl-] switches it off.');
  machine.console.onOutput((chunk) => void stdout.write(chunk));
  if (stdin.isTTY) stdin.setRawMode(true);
  stdin.setEncoding('utf8').on('data', (keys: string) => {
    if (keys.includes(LEAVE_KEY)) void machine.powerCut();
    else machine.console.type(keys);
  });
  try {
    await machine.waitForPowerOff({ timeoutMs: 2 ** 31 - 1 });
  } finally {
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.pause();
  }
  return 0;
}

async function keepDisks(machine: Machine): Promise<void> {
  await machine.powerCut();
  const folder = join(import.meta.dirname, '../../build/qemu');
  mkdirSync(folder, { recursive: true });
  for (const [index, { path }] of machine.disks.entries()) {
    const kept = join(folder, `disk${index}.raw`);
    copyFileSync(path, kept);
    console.error(`disk ${index} is ${kept}`);
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  console.error(describeError(thrown));
  process.exitCode = toKindlingError(thrown).exitCode;
}
