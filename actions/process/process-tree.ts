import { readdir, readFile } from 'node:fs/promises';
import { waitFor } from '../../system/wait.ts';

/**
 * Kills every process that carries this action's id in its environment: children inherit it, so this finds programs that made
 * themselves sessions of their own or were adopted by init, which a process group or the parent chain would miss.
 */
export async function endProcessesOf(actionId: string): Promise<number> {
  let ended = 0;
  await waitFor(
    async () => {
      const pids = await processesOf(actionId);
      for (const pid of pids) if (killed(pid)) ended++;
      return pids.length === 0 ? true : undefined;
    },
    { name: 'the end of the action’s processes', timeoutMs: 10_000, intervalMs: 20 },
  );
  return ended;
}

async function processesOf(actionId: string): Promise<number[]> {
  const marker = `KINDLING_ACTION_ID=${actionId}`;
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(
    names.map(async (name) => {
      const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '');
      return environment.split('\0').includes(marker) ? Number(name) : undefined;
    }),
  );
  return found.filter((pid) => pid !== undefined);
}

function killed(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false; // gone in the meantime
  }
}
