import { createReadStream } from 'node:fs';
import type { StickMachine } from '../../protocol/stick.ts';
import { pause } from '../../system/wait.ts';

/** Gives a person the chance to stop: a countdown, or nothing happens before somebody presses Enter. */
export async function confirm(
  machine: Pick<StickMachine, 'confirm' | 'countdownSeconds'>,
  terminals: readonly string[],
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  if (machine.confirm === 'key') {
    say('press Enter to go on, or switch the machine off');
    await enterOn(terminals, signal);
  } else if (machine.confirm === 'countdown') {
    for (let left = machine.countdownSeconds; left > 0; left--) {
      if (left === machine.countdownSeconds || left <= 3 || left % 5 === 0) {
        say(`starting in ${left} s; switch the machine off to stop it`);
      }
      await pause(1000, signal);
    }
  }
}

async function enterOn(terminals: readonly string[], signal: AbortSignal): Promise<void> {
  const pressed = Promise.withResolvers<void>();
  const streams = terminals.map((path) => {
    const stream = createReadStream(path);
    stream.on('data', () => pressed.resolve());
    stream.on('error', () => {}); // a console without input
    return stream;
  });
  const stop = () => pressed.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await pressed.promise;
  } finally {
    signal.removeEventListener('abort', stop);
    for (const stream of streams) stream.destroy();
  }
}
