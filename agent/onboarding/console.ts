import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { ReadStream, WriteStream } from 'node:tty';
import { readTypedLine } from './typed-line.ts';

/** A place where a person can read and type: a serial line, a screen with keyboard. */
export interface Console {
  name: string;
  write(text: string): void;
  /** One line as it is typed; without echo for passwords. Rejects when the console goes away or the signal fires. */
  readLine(options: { hasEcho: boolean; signal: AbortSignal }): Promise<string>;
  close(): void;
}

/** The consoles EMF prompts on, and those the kernel was told to use. */
const CANDIDATES = ['ttyS0', 'ttyS1', 'tty0'];

/** Opens every console this machine has; one that cannot be opened or read is left out. */
export function openConsoles(): Console[] {
  const names = [...new Set([...activeConsoles(), ...CANDIDATES])];
  const devices = names.map((name) => `/dev/${name}`).filter((path) => existsSync(path));
  const opened = devices.flatMap((path) => openConsole(path) ?? []);
  return opened.length > 0 ? opened : ['/dev/tty'].flatMap((path) => openConsole(path) ?? []);
}

function activeConsoles(): string[] {
  try {
    return readFileSync('/sys/class/tty/console/active', 'utf8').split(/\s+/).filter(Boolean);
  } catch {
    return [];
  }
}

function openConsole(path: string): Console | undefined {
  let fd: number;
  try {
    fd = openSync(path, 'r+');
  } catch {
    return undefined;
  }
  try {
    const input = new ReadStream(fd);
    const output = new WriteStream(fd);
    input.on('error', () => {}); // a serial port without a chip behind it gives EIO: readLine sees the close
    output.on('error', () => {});
    input.setRawMode(true);
    input.pause();
    return {
      name: path.replace('/dev/', ''),
      write: (text) => void output.write(text.replaceAll('\n', '\r\n')),
      readLine: (options) => readTypedLine(input, (text) => void output.write(text), options),
      close: () => {
        input.destroy();
        output.destroy();
      },
    };
  } catch {
    closeSync(fd);
    return undefined;
  }
}
