import { KindlingError } from '../protocol/error.ts';
import { type RunOptions, run, stderrOf } from '../system/run.ts';

/** Runs a program of the build to its end and gives what it printed, unchanged. */
export async function runTool(
  program: string,
  args: readonly string[],
  options: Pick<RunOptions, 'cwd' | 'env'> = {},
): Promise<string> {
  try {
    return (await run(program, args, { ...options, foreground: true })).stdout;
  } catch (cause) {
    if (cause instanceof KindlingError && cause.code === 'KND_TOOL_MISSING') throw cause;
    const said = stderrOf(cause) || (cause instanceof Error ? cause.message : String(cause));
    const last = said.split('\n').slice(-5).join(' / ');
    throw new KindlingError('KND_BUILD_FAILED', `${program} failed: ${last}`, { cause });
  }
}
