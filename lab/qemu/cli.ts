import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describeError, KindlingError, toKindlingError } from '../../protocol/error.ts';
import { onEndSignal } from '../../system/end-signal.ts';
import { parseQemuArguments, type QemuCommand, USAGE } from './cli-arguments.ts';
import { isKernelMessage } from './console.ts';
import { bootMachine, type Machine } from './machine.ts';
import type { KernelSpec } from './machine-spec.ts';
import { actionCommandLine, fitsKernelLine, microOsKernel } from './micro-os.ts';
import { orchestratedKernel, readOrchestratorAccess } from './orchestrated-node.ts';
import { makeFolder, removeFolder } from './processes.ts';

const LEAVE_KEY = '\x1d'; // Ctrl-]
const NEVER_MS = 2 ** 31 - 1;
const ENDS_AT_RESTART = '-no-reboot';

/** 1 read the arguments  2 build the Micro-OS  3 boot  4 show the console  5 the result decides the exit code */
async function main(args: string[]): Promise<number> {
  const command = parseQemuArguments(args);
  if (command === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  const folder = makeFolder('qemu');
  try {
    return await runMachine(command, await kernelOf(command, folder));
  } finally {
    removeFolder(folder);
  }
}

/** What the machine starts; nothing of ours where it has a stick. */
async function kernelOf(command: QemuCommand, folder: string): Promise<KernelSpec | undefined> {
  if (command.hasStick) return undefined;
  const { profile, append } = command;
  const kernel =
    command.orchestratorState === undefined
      ? await microOsKernel({ profile, cmdline: commandLine(command) })
      : await orchestratedKernel(readOrchestratorAccess(command.orchestratorState), {
          folder,
          append,
          profile,
        });
  if (!fitsKernelLine(kernel.cmdline ?? '')) {
    throw new KindlingError(
      'KND_USAGE',
      'the variables are too long for the kernel command line (2,048 bytes)',
      {
        hint: 'Serve long values from a URL that the action fetches.',
      },
    );
  }
  return kernel;
}

async function runMachine(command: QemuCommand, kernel: KernelSpec | undefined): Promise<number> {
  const stopped = Promise.withResolvers<void>();
  onEndSignal(() => stopped.resolve());
  // A kernel that QEMU starts would be started after every restart: the first one is made here, to the disk.
  const qemuArgs = command.orchestratorState === undefined ? [] : [ENDS_AT_RESTART];
  await using machine = await bootMachine({ ...command.machine, kernel, qemuArgs });
  void stopped.promise.then(() => machine.powerCut());
  try {
    return command.action === undefined ? await talk(machine, command) : await runAction(machine, command);
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
  machine.console.onLine(({ text, atMs }) => {
    if (command.isVerbose || !isKernelMessage(text))
      console.error(`${(atMs / 1000).toFixed(1).padStart(6)} │ ${text}`);
  });
  const { groups } = await machine.console.waitFor(/KINDLING-RESULT (\{.*"uptime":[\d.]+\})/, {
    timeoutMs: command.timeoutMs,
  });
  const result = JSON.parse(groups[1] ?? '{}') as { exitCode?: number };
  await machine.waitForPowerOff();
  console.log(JSON.stringify(result, null, 2));
  return result.exitCode ?? 1;
}

/** Connects this terminal with the machine's console, until it is switched off or has said what was waited for. */
async function talk(machine: Machine, command: QemuCommand): Promise<number> {
  const { stdin, stdout } = process;
  console.error('The console of the machine. Ctrl-] switches it off.');
  const heard = Promise.withResolvers<boolean>();
  const listen = () => {
    machine.console.onOutput((chunk) => void stdout.write(chunk));
    machine.console.onLine(({ text }) => {
      if (command.until !== undefined && text.includes(command.until)) heard.resolve(true);
    });
  };
  const late = setTimeout(
    () => heard.resolve(false),
    command.until === undefined ? NEVER_MS : command.timeoutMs,
  );
  listen();
  if (stdin.isTTY) stdin.setRawMode(true);
  stdin.setEncoding('utf8').on('data', (keys: string) => {
    if (keys.includes(LEAVE_KEY)) void machine.powerCut();
    else machine.console.type(keys);
  });
  try {
    const off = untilSwitchedOff(machine, listen).then(() => false);
    off.catch(() => {}); // told below, unless the other one won
    if (!(await Promise.race([heard.promise, off])) && command.until !== undefined) {
      throw new KindlingError('KND_TIMEOUT', `the console has not said “${command.until}”`);
    }
  } finally {
    clearTimeout(late);
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.pause();
  }
  return 0;
}

/** A node that restarts itself after the installation starts its disk; its firmware's boot order says so from then on. */
async function untilSwitchedOff(machine: Machine, onPowerOn: () => void): Promise<void> {
  await machine.waitForPowerOff({ timeoutMs: NEVER_MS });
  if (!machine.events.some(({ name, data }) => name === 'SHUTDOWN' && data['reason'] === 'guest-reset'))
    return;
  console.error('\r\nThe machine restarts, now from its disk.\r');
  await machine.powerOn({ kernel: undefined, qemuArgs: [] });
  onPowerOn();
  await machine.waitForPowerOff({ timeoutMs: NEVER_MS });
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
