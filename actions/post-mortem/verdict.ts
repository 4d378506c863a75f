/** What could be read of an installed system that did not report. Texts may be empty, parts absent. */
export interface Evidence {
  /** Why the root could not be read, if it could not. */
  rootProblem?: string;
  /** End of the kernel's log as it panicked. */
  crash: string;
  cloudInitLog?: string;
  /** The journal that a system keeps when its time to report is over. */
  firstBootLog?: string;
}

/** In one sentence: how far the installed system came, and what stopped it. Pure. */
export function findReason(evidence: Evidence): string {
  const panic = lastMatch(evidence.crash, /Kernel panic - not syncing: .*|BUG: .*/);
  if (panic) return `its kernel died: ${panic.replace(/ ]?---.*$/, '')}`;
  if (evidence.rootProblem !== undefined) return `its root cannot be read: ${evidence.rootProblem}`;
  if (evidence.firstBootLog !== undefined) {
    const refusal = lastMatch(
      evidence.firstBootLog,
      /(?:first-boot\.sh|kindling-first-boot-report)\S*: (.*)/,
    );
    return refusal
      ? `it ran, but its report did not get through: ${refusal}`
      : 'it ran, but did not report in time; its journal is in this log';
  }
  const { cloudInitLog } = evidence;
  if (!cloudInitLog)
    return 'cloud-init never ran: the machine did not start its disk, or loader, kernel or root file system stopped it';
  const failure = lastMatch(cloudInitLog, /\[(?:ERROR|CRITICAL)\]: (.*)/);
  if (failure) return `cloud-init failed: ${failure}`;
  const step = lastMatch(cloudInitLog, /start: (\S+): /);
  return `it stopped inside cloud-init${step ? `, in ${step}` : ''}`;
}

function lastMatch(text: string, pattern: RegExp): string | undefined {
  const matches = [...text.matchAll(new RegExp(pattern, 'g'))];
  const last = matches.at(-1);
  return (last?.[1] ?? last?.[0])?.trim();
}
