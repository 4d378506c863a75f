import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { openKeyboard } from './keyboard.ts';

/** A place where a person can read and type: a serial line, a screen with keyboard. */
export interface Console {
  name: string;
  write(text: string): void;
  /** One line as it is typed; without echo for passwords. Rejects when the console goes away or the signal fires. */
  readLine(options: { hasEcho: boolean; signal: AbortSignal }): Promise<string>;
  close(): void;
}

/** The consoles EMF prompts on, besides those the kernel was told to use. */
const EMF_CONSOLES = ['ttyS0', 'ttyS1', 'tty0'];

/** The consoles to ask a person on, besides `known` ones. `tty0` is whichever screen is in front: once is enough. */
export function promptConsoles(known: readonly string[]): string[] {
  const hasScreen = known.some((name) => /^tty\d+$/.test(name));
  return [...new Set([...known, ...EMF_CONSOLES.filter((name) => name !== 'tty0' || !hasScreen)])];
}

/** Opens every console this machine has, and the terminal the agent was started from; what cannot be opened is left out. */
export function openConsoles(): Console[] {
  const names = [...promptConsoles(activeConsoles()), ...(isatty(0) ? ['tty'] : [])];
  return names
    .map((name) => `/dev/${name}`)
    .filter((path) => existsSync(path))
    .flatMap((path) => openConsole(path) ?? []);
}

function activeConsoles(): string[] {
  try {
    return readFileSync('/sys/class/tty/console/active', 'utf8').split(/\s+/).filter(Boolean);
  } catch {
    return [];
  }
}

function openConsole(path: string): Console | undefined {
  const keyboard = openKeyboard(path);
  if (!keyboard) return undefined;
  const fd = openSync(path, constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
  const write = (text: string) => {
    try {
      writeSync(fd, text.replace(/\r?\n/g, '\r\n'));
    } catch {
      // nobody reads there: the question is on the other consoles, too
    }
  };
  return {
    name: path.replace('/dev/', ''),
    write,
    readLine: (options) => keyboard.readLine(options, write),
    close: () => {
      keyboard.close();
      closeSync(fd);
    },
  };
}
