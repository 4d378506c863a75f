import { randomUUID } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Run } from '../../system/run.ts';
import { releaseLeftovers } from '../resources/ledger.ts';
import { endProcessesOf } from './process-tree.ts';

const FOLDER = '/run/kindling/actions';

/** One run of an action: the id that its processes carry in their environment, and the file where it notes what it takes. */
export interface RunLedger {
  id: string;
  path: string;
}

/** The ledger of a run that this process answers for. It is there from the start: a run that has taken nothing yet is a run too. */
export async function openLedger(folder = FOLDER): Promise<RunLedger> {
  const id = randomUUID();
  const ledger = path.join(folder, `${id}.${process.pid}.ledger`);
  // Who may not write there is not root, and takes nothing that would have to be undone.
  await mkdir(folder, { recursive: true, mode: 0o700 })
    .then(() => writeFile(ledger, ''))
    .catch(() => {});
  return { id, path: ledger };
}

/**
 * Ends and undoes the runs nobody answers for any more, and says how many: an agent that is killed leaves its action running, and that would write
 * beside the next one.
 */
export async function releaseAbandoned(run: Run, folder = FOLDER): Promise<number> {
  let released = 0;
  const names: string[] = await readdir(folder).catch(() => []);
  for (const name of names) {
    const [, id, owner] = /^([^.]+)\.(\d+)\.ledger$/.exec(name) ?? [];
    if (id === undefined || isAlive(Number(owner))) continue;
    await endProcessesOf(id).catch(() => 0);
    await releaseLeftovers(path.join(folder, name), run);
    released += 1;
  }
  return released;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
