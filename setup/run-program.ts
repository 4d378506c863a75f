import { spawn } from 'node:child_process';
import { KindlingError } from '../protocol/error.ts';

/** Runs a program on this terminal and gives its exit code; Ctrl-C goes to the program, which ends in its own way. */
export function runProgram(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  const ignore = () => {};
  process.on('SIGINT', ignore);
  child.on('error', (cause) =>
    reject(new KindlingError('KND_SETUP_FAILED', `${program} could not be started`, { cause })),
  );
  child.on('close', (exitCode, signal) => {
    process.off('SIGINT', ignore);
    resolve(exitCode ?? (signal ? 130 : 1));
  });
  return promise;
}
