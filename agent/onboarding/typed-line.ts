import type { Readable } from 'node:stream';

const ENTER = ['\r', '\n'];
const ERASE = ['\x7f', '\b'];
const CLEAR = ['\x03', '\x15']; // Ctrl-C, Ctrl-U

/** Reads one line key by key from a terminal in raw mode: echo, erase and clear are ours to do. */
export function readTypedLine(
  input: Readable,
  echo: (text: string) => void,
  { hasEcho, signal }: { hasEcho: boolean; signal: AbortSignal },
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let line = '';
  const show = (text: string) => {
    if (hasEcho) echo(text);
  };
  const onData = (chunk: Buffer | string) => {
    const keys = [...chunk.toString()];
    for (const [index, key] of keys.entries()) {
      if (ENTER.includes(key)) {
        echo('\r\n');
        // What was typed or pasted after the line belongs to the next question.
        const rest = keys.slice(index + 1).join('');
        if (rest !== '') input.unshift(Buffer.from(rest));
        resolve(line);
        return;
      }
      if (ERASE.includes(key)) {
        if (line !== '') show('\b \b');
        line = line.slice(0, -1);
      } else if (CLEAR.includes(key)) {
        show('\b \b'.repeat(line.length));
        line = '';
      } else if (key >= ' ') {
        line += key;
        show(key);
      }
    }
  };
  const onEnd = () => reject(new Error('the console went away'));
  const onAbort = () => reject(signal.reason);
  input.on('data', onData);
  input.once('end', onEnd);
  input.once('close', onEnd);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  input.resume();
  return promise.finally(() => {
    input.pause();
    input.off('data', onData);
    input.off('end', onEnd);
    input.off('close', onEnd);
    signal.removeEventListener('abort', onAbort);
  });
}
