import { spawnSync } from 'node:child_process';
import { KindlingError } from '../../protocol/error.ts';

/** Runs one of the Go programs beside this file and gives what it prints. */
export function runGo(
  program: string,
  options: { input?: string; env?: Record<string, string> } = {},
): string {
  const go = spawnSync('go', ['run', '.'], {
    cwd: new URL(`./${program}/`, import.meta.url),
    input: options.input ?? '',
    env: { ...process.env, ...options.env },
    encoding: 'utf8',
    maxBuffer: 1024 ** 3,
  });
  if (go.error)
    throw new KindlingError('KND_TOOL_MISSING', 'go is not installed; the tests need it not, this does');
  if (go.status !== 0)
    throw new KindlingError('KND_COMMAND_FAILED', `go run ${program}: ${go.stderr.trim().slice(0, 500)}`);
  return go.stdout;
}
