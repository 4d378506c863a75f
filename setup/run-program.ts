import { spawn } from 'node:child_process';
import { KindlingError } from '../protocol/error.ts';
import { exitCodeOf } from '../system/end-signal.ts';

/** Runs a program on this terminal and gives its exit code; what is to end us ends the program first. */
export function runProgram(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  const ignore = () => {}; // Ctrl-C goes to the program, which ends in its own way
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  process.on('SIGINT', ignore).on('SIGTERM', forward).on('SIGHUP', forward);
  child.on('error', (cause) =>
    reject(new KindlingError('KND_SETUP_FAILED', `${program} could not be started`, { cause })),
  );
  child.on('close', (exitCode, signal) => {
    process.off('SIGINT', ignore).off('SIGTERM', forward).off('SIGHUP', forward);
    resolve(exitCode ?? (signal ? exitCodeOf(signal) : 1));
  });
  return promise;
}

/** Becomes the program: one process less, and its signals need nobody to pass them on. */
export function becomeProgram(program: string, args: readonly string[]): never {
  if (!process.execve)
    throw new KindlingError('KND_SETUP_FAILED', `${process.version} cannot become ${program}`);
  return process.execve(program, [program, ...args], process.env);
}
