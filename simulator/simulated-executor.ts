import type { Executor } from '../agent/workflow/executor.ts';
import type { Work } from '../agent/workflow/work.ts';
import { toErrorReport } from '../protocol/error.ts';
import { encodeFailure } from '../protocol/failure-text.ts';
import { pause } from '../system/wait.ts';
import { type Defect, planAction } from './plan-action.ts';

export interface SimulatedWork {
  /** 1: usual; 1.2: a fifth slower. */
  pace: number;
  defect: Defect | undefined;
  /** How many times as fast as a real machine. */
  speed: number;
  /** Told of each action before it begins: what the node was given for it. */
  onWork: (work: Work) => void;
}

const TELL_EVERY_MS = 1000;

/** Runs actions that take their time, tell how far they are, and touch nothing. */
export function simulatedExecutor({ pace, defect, speed, onWork }: SimulatedWork): Executor {
  return {
    mayRunAgain: () => true,
    async execute(work, { onProgress, signal }) {
      onWork(work);
      const { stage, seconds, bytes, fault, isReboot } = planAction(work.image, pace, defect);
      const whole = (seconds * 1000) / speed;
      const end = whole * (fault?.at ?? 1);
      for (let gone = 0; gone < end; gone += TELL_EVERY_MS) {
        const percent = (gone / whole) * 100;
        const rate = bytes === undefined ? {} : { figures: { rawRate: Math.round((bytes * 1000) / whole) } };
        onProgress({ type: 'progress', stage, percent, etaSeconds: (whole - gone) / 1000, ...rate });
        await pause(Math.min(TELL_EVERY_MS, end - gone), signal);
      }
      if (fault) return { state: 'failed', message: encodeFailure(toErrorReport(fault.error)) };
      const handOver = isReboot ? { handOver: { kind: 'reboot' as const } } : {};
      return { state: 'success', message: `${work.name}: simulated`, ...handOver };
    },
  };
}
