import { type Logger, pino } from 'pino';
import { humanLine } from './human-line.ts';
import type { Ring } from './ring.ts';

export type Log = Logger;

export interface LogOptions {
  ring: Ring;
  level: string;
  /** Where a person reads along; one finished line at a time. */
  onHumanLine?: (line: string) => void;
}

/**
 * The agent's log: JSON lines (time, level, msg, and whatever node, workflow, action, attempt a child logger carries) into the
 * ring that is shipped, and a readable view of the same for the console.
 */
export function createLog({ ring, level, onHumanLine }: LogOptions): Log {
  const destination = {
    write(line: string) {
      ring.push(line.trimEnd());
      onHumanLine?.(humanLine(line));
    },
  };
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: ['*.clientSecret', '*.password', '*.accessToken', '*.refreshToken', '*.releaseToken'],
        censor: '********',
      },
    },
    destination,
  );
}
