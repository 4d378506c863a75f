import type { ActionContext } from './action.ts';

/** Turns what a program prints into log lines of the action, whole lines at a time; end() gives what came after the last line end. */
export function lineLogger(context: Pick<ActionContext, 'log'>) {
  const rest = { stdout: '', stderr: '' };
  return {
    onOutput(stream: 'stdout' | 'stderr', chunk: Buffer) {
      const lines = (rest[stream] + chunk.toString()).split('\n');
      rest[stream] = lines.pop() ?? '';
      for (const line of lines) context.log('info', line);
    },
    end() {
      for (const line of [rest.stdout, rest.stderr]) if (line !== '') context.log('info', line);
    },
  };
}
