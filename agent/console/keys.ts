import { constants, openSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import type { MachineFiles } from '../../system/machine-files.ts';

/** Calls `onKey` for every key pressed on any console until the returned function is called. */
export function listenForKeys(
  files: MachineFiles,
  names: readonly string[],
  onKey: (key: string) => void,
): () => void {
  const streams = names.flatMap((name) => {
    try {
      const stream = new ReadStream(
        openSync(files.path(`/dev/${name}`), constants.O_RDONLY | constants.O_NOCTTY | constants.O_NONBLOCK),
      );
      stream.on('error', () => {}); // a console without a keyboard
      stream.on('data', (bytes: Buffer) => {
        for (const key of bytes.toString('latin1')) onKey(key);
      });
      stream.setRawMode(true);
      return [stream];
    } catch {
      return [];
    }
  });
  return () => {
    for (const stream of streams) {
      stream.setRawMode(false);
      stream.destroy();
    }
  };
}
