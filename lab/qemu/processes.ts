import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Everything a test starts or makes is known here, so that nothing outlives it: not after a failure, not after Ctrl-C,
// and (processes) not even after SIGKILL of the test runner, because the kernel then kills them too.

const processes = new Set<ChildProcess>();
const folders = new Set<string>();

/** Starts a program that dies with this process, however this process ends. */
export function startGuarded(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  // setpriv only sets the parent-death signal and then becomes the program: the pid is the program's own.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', program, ...args], options);
  processes.add(child);
  // 'exit', as kill() waits for it: 'close' comes later, when the pipes have been read to their ends.
  child.on('exit', () => processes.delete(child));
  child.on('error', () => processes.delete(child));
  return child;
}

/** Kills one process and waits until it is gone. */
export async function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => resolve());
  child.kill(signal);
  await promise;
}

/** A temporary folder that is removed at the latest when this process ends. The path is short: sockets live in it. */
export function makeFolder(purpose: string): string {
  const folder = mkdtempSync(join(tmpdir(), `kindling-${purpose}-`));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

/** What is still there: give it to `expect(leftovers()).toEqual([])` at the end of a test file. */
export function leftovers(): string[] {
  const running = [...processes].map(
    (child) => `process ${child.pid}: ${child.spawnargs.slice(4).join(' ')}`,
  );
  return [
    ...running,
    ...[...folders].filter((folder) => existsSync(folder)).map((folder) => `folder ${folder}`),
  ];
}

process.on('exit', () => {
  for (const child of processes) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
