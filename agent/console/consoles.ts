import { appendFileSync } from 'node:fs';
import type { KernelArguments } from '../../system/kernel-arguments.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import type { Run } from '../../system/run.ts';
import { consoleWriter } from './console-writer.ts';
import { uptimeSeconds } from './uptime.ts';

/** Text for people on every console of the kernel command line, and marker lines for programs on the serial ones. */
export interface Consoles {
  names: readonly string[];
  /** One or more whole lines, without time. */
  print(text: string): void;
  /** Text on one of them, without a line end: a question, the echo of its answer. Other lines do not tear it apart. */
  write(name: string, text: string): void;
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
  const writerFor = (name: string) => ({ name, writer: consoleWriter(files.path(`/dev/${name}`)) });
  const writers = names.map(writerFor);
  /** Where only questions are asked: EMF asks on consoles the kernel command line does not name. */
  const further: typeof writers = [];
  return {
    names,
    print(text) {
      const lines = text.endsWith('\n') ? text : `${text}\n`;
      for (const { writer } of writers) writer.print(lines.replaceAll('\n', '\r\n'));
    },
    write(name, text) {
      let console = [...writers, ...further].find((each) => each.name === name);
      if (!console) {
        console = writerFor(name);
        further.push(console);
      }
      console.writer.write(text.replace(/\r?\n/g, '\r\n'));
    },
    marker(name, value) {
      const line = `KINDLING-${name} ${JSON.stringify({ ...value, uptime: uptimeSeconds(files) })}\r\n`;
      for (const { name: console, writer } of writers) if (!isVirtualTerminal(console)) writer.print(line);
      kernelLog(files, line);
    },
    flush: async () => {
      await Promise.all([...writers, ...further].map(({ writer }) => writer.flush()));
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
