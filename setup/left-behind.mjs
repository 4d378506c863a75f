// What an npm command started or made and did not take back itself: it was stopped by a signal, or it failed.
// Plain JavaScript like run.mjs, which calls it on whatever Node the machine has.
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Every process of a run has the run's name in its environment, whatever its parent is by now. */
const RUNS = 'KINDLING_RUNS';
/** What a process may take to end in its own way before it is killed. */
const END_MS = 5000;
const POLL_MS = 20;

/**
 * Begins a run: what it starts with this environment is found again, and its temporary files are in a folder of their own
 * below `parent`.
 * `end` leaves nothing: no process, no mount, no loop device, no temporary file.
 */
export function beginRun(parent) {
  const name = randomUUID();
  const folder = realpathSync(mkdtempSync(join(parent, 'kindling-run-')));
  chmodSync(folder, 0o711); // apt, as a user of its own, reads what mmdebstrap makes below it
  const runs = [process.env[RUNS], name].filter(Boolean).join(' ');
  return {
    environment: { ...process.env, [RUNS]: runs, TMPDIR: folder },
    end: async () => {
      await endProcesses(name);
      detachDevices(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function endProcesses(name) {
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    const deadline = performance.now() + END_MS;
    for (const pid of processesOf(name)) sendSignal(pid, signal);
    while (processesOf(name).length > 0 && performance.now() < deadline) await delay(POLL_MS);
  }
}

function processesOf(name) {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(name);
    } catch {
      return false; // ended meanwhile, or another user's
    }
  });
}

function sendSignal(pid, signal) {
  try {
    process.kill(Number(pid), signal);
  } catch {
    // ended meanwhile
  }
}

/** Before the files go: what is mounted there would be emptied, and a loop device would keep its deleted file. */
function detachDevices(folder) {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${folder}/`));
  // The last mounted goes first: it may stand on another one.
  for (const path of mounts.reverse()) spawnSync('umount', ['--lazy', path]);
  for (const device of readdirSync('/sys/block').filter((each) => each.startsWith('loop'))) {
    if (backingFile(device).startsWith(`${folder}/`)) spawnSync('losetup', ['--detach', `/dev/${device}`]);
  }
}

function backingFile(device) {
  try {
    return readFileSync(`/sys/block/${device}/loop/backing_file`, 'utf8');
  } catch {
    return ''; // not in use
  }
}
