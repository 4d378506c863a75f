import { closeSync, constants, openSync, write } from 'node:fs';
import { unfinishedLine } from './unfinished-line.ts';

/** More than this unwritten means nobody takes it: a serial line at 115200 baud needs six seconds for it. */
const MAX_PENDING = 64 * 1024;
/** Back to the start of the line, and clear it. */
const CLEAR_LINE = '\r\x1b[K';

export interface ConsoleWriter {
  /** Whole lines. A line somebody is typing into is shown again below them. */
  print(lines: string): void;
  /** Text as it is, without a line end: a question, and the echo of its answer. */
  write(text: string): void;
  flush(): Promise<void>;
}

/**
 * Writes without ever blocking the agent: a serial port with flow control and nobody at the other end, or a slow one, must not
 * stop provisioning. What does not go out in time is dropped, and that is said.
 */
export function consoleWriter(path: string): ConsoleWriter {
  const pending: string[] = [];
  let size = 0;
  let dropped = 0;
  let fd: number | undefined;
  let idle = Promise.resolve();
  let isBusy = false;
  let unfinished = '';

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
  const add = (text: string) => {
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
  };
  return {
    print: (lines) => add(unfinished === '' ? lines : `${CLEAR_LINE}${lines}${unfinished}`),
    write: (text) => {
      unfinished = unfinishedLine(unfinished + text);
      add(text);
    },
    flush: () => idle,
  };
}
