import { type KindlingError, toErrorReport } from '../../protocol/error.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import type { Consoles } from './consoles.ts';
import type { Stage } from './stage.ts';
import { uptimeSeconds } from './uptime.ts';

/** What a boot tells people and programs while it runs. */
export interface View {
  /** A line of the stage that is going on: "[   12.3] network    eth0: link up". */
  line(stage: Stage, text: string): void;
  /** A stage is reached: a marker for programs, with what is known then. */
  reached(stage: Stage, facts?: Record<string, unknown>): void;
  /** Something is not as it should be but the boot goes on: the code, the reason and the next step. */
  notice(stage: Stage, problem: KindlingError): void;
  /** Shows "waiting for <what> since 12 s" until the returned function is called. */
  waiting(stage: Stage, what: string): () => void;
  /** What is being waited for right now and for how long. */
  waits(): { what: string; seconds: number }[];
}

/** Often at first, when somebody is looking; then now and then, so that a serial log stays readable. */
const SHOW_WAIT_AFTER_SECONDS = [3, 10, 20, 30, 45, 60, 90];

export function createView(files: MachineFiles, consoles: Consoles): View {
  const current = new Map<symbol, { stage: Stage; what: string; since: number; shown: number }>();
  const line = (stage: Stage, text: string) => {
    const time = `[${uptimeSeconds(files).toFixed(1).padStart(7)}]`;
    const lines = text.split('\n').map((part) => `${time} ${stage.padEnd(10)}${part}`);
    consoles.print(lines.join('\n'));
  };
  const ticker = setInterval(() => {
    for (const wait of current.values()) {
      const seconds = Math.floor(uptimeSeconds(files) - wait.since);
      const next =
        SHOW_WAIT_AFTER_SECONDS[wait.shown] ?? (wait.shown - SHOW_WAIT_AFTER_SECONDS.length + 1) * 60 + 90;
      if (seconds < next) continue;
      wait.shown += 1;
      line(wait.stage, `waiting for ${wait.what} since ${seconds} s`);
    }
  }, 500);
  ticker.unref();
  return {
    line,
    reached: (stage, facts = {}) => consoles.marker('STAGE', { stage, ...facts }),
    notice(stage, problem) {
      const { code, message, hint } = toErrorReport(problem);
      line(stage, `${code}: ${message}\n  next: ${hint}`);
      consoles.marker('NOTICE', { code, message });
    },
    waiting(stage, what) {
      const key = Symbol(what);
      current.set(key, { stage, what, since: uptimeSeconds(files), shown: 0 });
      return () => {
        current.delete(key);
      };
    },
    waits: () =>
      [...current.values()].map(({ what, since }) => ({
        what,
        seconds: Math.floor(uptimeSeconds(files) - since),
      })),
  };
}
