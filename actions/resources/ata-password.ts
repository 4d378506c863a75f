import type { Run } from '../../system/run.ts';

/** A disk must have a password before it obeys. It is not a secret: a person who finds a disk that was left locked should know it. */
export const OUR_PASSWORD = 'kindling';

/** What a disk says of its ATA security feature set. */
export interface AtaSecurity {
  supported: boolean;
  enhanced: boolean;
  frozen: boolean;
  locked: boolean;
  enabled: boolean;
}

/** False if it is still there. */
export async function removeOurPassword(device: string, run: Run): Promise<boolean> {
  if (!(await readAtaSecurity(device, run))?.enabled) return true;
  // Also when the action was canceled.
  const { signal } = new AbortController();
  await withOurPassword(run, '--security-disable', device, { signal }).catch(() => {});
  return !(await readAtaSecurity(device, run))?.enabled;
}

/** Opens a disk that an erase of ours left locked when the power went; false if the password is somebody else's. */
export async function unlockOurs(device: string, run: Run): Promise<boolean> {
  await withOurPassword(run, '--security-unlock', device).catch(() => {});
  return !(await readAtaSecurity(device, run))?.locked;
}

/** It ends with 0 also where the disk refused: what became of a command shows in the state of the disk. */
export function withOurPassword(run: Run, command: string, device: string, options?: Parameters<Run>[2]) {
  return run('hdparm', ['--user-master', 'u', command, OUR_PASSWORD, device], options);
}

export async function readAtaSecurity(device: string, run: Run): Promise<AtaSecurity | undefined> {
  const answer = await run('hdparm', ['-I', device], {
    timeoutMs: 10_000,
    okExitCodes: [0, 5, 25],
    signal: new AbortController().signal, // a cancel does not end the question whether a password is left
  }).catch(() => undefined);
  return answer && parseHdparmSecurity(answer.stdout);
}

/** The "Security:" section of `hdparm -I`; each state is printed alone on its line, with "not" before it if it does not hold. */
export function parseHdparmSecurity(text: string): AtaSecurity | undefined {
  const section = /^Security:\s*\n((?:[ \t]+.*\n?)*)/m.exec(text)?.[1];
  if (section === undefined) return undefined;
  const holds = (state: string) => new RegExp(`^\\s*${state}\\s*$`, 'm').test(section);
  return {
    supported: holds('supported'),
    enhanced: holds('supported: enhanced erase'),
    frozen: holds('frozen'),
    locked: holds('locked'),
    enabled: holds('enabled'),
  };
}
