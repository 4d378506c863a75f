import { closeSync, constants, openSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import { readTypedLine } from './typed-line.ts';

/** The side of a terminal that a person types on. */
export interface Keyboard {
  /** One line as it is typed; `echo` shows it where that is wanted. Rejects when it goes away or the signal fires. */
  readLine(options: { hasEcho: boolean; signal: AbortSignal }, echo: (text: string) => void): Promise<string>;
  close(): void;
}

/** Undefined where there is no such terminal: the kernel makes files for serial ports that have no chip behind them. */
export function openKeyboard(path: string): Keyboard | undefined {
  let fd: number;
  try {
    // Neither waits for a modem's carrier, nor becomes the terminal whose Ctrl-C ends the agent.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const input = new ReadStream(fd);
    input.on('error', () => {}); // it was unplugged: readLine sees the close
    input.setRawMode(true);
    input.pause();
    return {
      readLine: (options, echo) => readTypedLine(input, echo, options),
      close: () => {
        input.setRawMode(false);
        input.destroy();
      },
    };
  } catch {
    closeSync(fd);
    return undefined;
  }
}
