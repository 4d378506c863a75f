export interface SlowStage {
  stage: string;
  medianSeconds: number;
}

/** How the work of some hours went. A node counts once. */
export interface ShiftFigures {
  since: string;
  until: string;
  /** Their system has reported. */
  done: number;
  /** The last try ended badly. */
  failed: number;
  /** Done at the first try, with nothing begun anew. */
  firstPass: number;
  /** firstPass of (done + failed), 0 to 1; null where there was neither. */
  firstPassYield: number | null;
  perHour: number;
  slowestStage: SlowStage | null;
}
