import { appendFileSync, closeSync, constants, openSync, write } from 'node:fs';
import type { KernelArguments } from '../../system/kernel-arguments.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import type { Run } from '../../system/run.ts';
import { uptimeSeconds } from './uptime.ts';

/** Text for people on every console of the kernel command line, and marker lines for programs on the serial ones. */
export interface Consoles {
  names: readonly string[];
  /** One or more whole lines, without time. */
  print(text: string): void;
  /** `KINDLING-<name> {json}` on serial consoles: for the harness and benchmarks. */
  marker(name: string, value: Record<string, unknown>): void;
  /** Waits until everything was written, or the consoles do not take it. */
  flush(): Promise<void>;
}

/**
 * The consoles of the kernel command line. The kernel itself uses only one of a kind (the last `console=ttyS…`), so those it
 * did not take are added if they are there. /dev/console if nobody tells.
 */
function consoleNames(files: MachineFiles, args: KernelArguments): string[] {
  const active = files.text('/sys/class/tty/console/active')?.split(/\s+/) ?? [];
  const devices = new Set(files.names('/dev'));
  const named = args.all('console').map((value) => value.split(',')[0] ?? '');
  const names = [...new Set([...active, ...named.filter((name) => devices.has(name))])];
  return names.length > 0 ? names : ['console'];
}

/** Serial ports the kernel did not take as a console still have the speed they woke up with. */
export async function setConsoleSpeeds(files: MachineFiles, args: KernelArguments, run: Run): Promise<void> {
  const active = files.text('/sys/class/tty/console/active')?.split(/\s+/) ?? [];
  for (const value of args.all('console')) {
    const [, name, baud] = /^(tty(?:S|AMA|USB)\d+),(\d+)/.exec(value) ?? [];
    if (!name || !baud || active.includes(name)) continue;
    await run('stty', ['-F', files.path(`/dev/${name}`), baud], { timeoutMs: 2000 }).catch(() => {}); // no such port
  }
}

/** A virtual terminal is for people; everything else is, or may be, read by a program. */
function isVirtualTerminal(name: string): boolean {
  return /^tty\d+$/.test(name);
}

export function openConsoles(files: MachineFiles, args: KernelArguments): Consoles {
  const names = consoleNames(files, args);
  const writers = names.map((name) => ({ name, writer: consoleWriter(files.path(`/dev/${name}`)) }));
  return {
    names,
    print(text) {
      const lines = text.endsWith('\n') ? text : `${text}\n`;
      for (const { writer } of writers) writer.add(lines.replaceAll('\n', '\r\n'));
    },
    marker(name, value) {
      const line = `KINDLING-${name} ${JSON.stringify({ ...value, uptime: uptimeSeconds(files) })}\r\n`;
      for (const { name: console, writer } of writers) if (!isVirtualTerminal(console)) writer.add(line);
      kernelLog(files, line);
    },
    flush: async () => {
      await Promise.all(writers.map(({ writer }) => writer.flush()));
    },
  };
}

/** A copy for dmesg and crash dumps, at debug level: no console shows that level, so nothing is seen twice. */
function kernelLog(files: MachineFiles, line: string): void {
  try {
    appendFileSync(files.path('/dev/kmsg'), `<7>${line.trimEnd()}\n`);
  } catch {
    // the kernel limits the rate, and a line may be too long for it
  }
}

/** More than this unwritten means nobody takes it: a serial line at 115200 baud needs six seconds for it. */
const MAX_PENDING = 64 * 1024;

/**
 * Writes without ever blocking the agent: a serial port with flow control and nobody at the other end, or a slow one, must not
 * stop provisioning. What does not go out in time is dropped, and that is said.
 */
function consoleWriter(path: string) {
  const pending: string[] = [];
  let size = 0;
  let dropped = 0;
  let fd: number | undefined;
  let idle = Promise.resolve();
  let isBusy = false;

  const writeSome = (bytes: Buffer) =>
    new Promise<number>((resolve) => {
      fd ??= openSync(path, constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
      write(fd, bytes, (error, written) => {
        if (!error) resolve(written);
        else if (error.code === 'EAGAIN') setTimeout(() => resolve(0), 20);
        else {
          if (fd !== undefined) closeSync(fd);
          fd = undefined;
          resolve(-1);
        }
      });
    });
  const drain = async () => {
    while (pending.length > 0) {
      let bytes = Buffer.from(pending[0] ?? '');
      while (bytes.length > 0) {
        let written = -1;
        try {
          written = await writeSome(bytes);
        } catch {
          // no such device: a console the kernel names but that has no file
        }
        if (written < 0) break;
        bytes = bytes.subarray(written);
      }
      size -= pending.shift()?.length ?? 0;
    }
    isBusy = false;
  };
  return {
    add(text: string) {
      if (size + text.length > MAX_PENDING) {
        dropped += 1;
        return;
      }
      if (dropped > 0) {
        pending.push(`… ${dropped} lines left out, this console was too slow\r\n`);
        dropped = 0;
      }
      pending.push(text);
      size += text.length;
      if (isBusy) return;
      isBusy = true;
      idle = drain();
    },
    flush: () => idle,
  };
}
