import { requireAction } from '../../actions/catalog.ts';
import { startChild } from '../../actions/process/start-child.ts';
import { ERROR_CODES, type ErrorCode } from '../../protocol/error-codes.ts';
import type { KernelArguments } from '../../system/kernel-arguments.ts';
import type { Consoles } from '../console/consoles.ts';
import type { View } from '../console/view.ts';

const SET = 'kindling.set.';

/** The variables of kindling.set.<NAME>=…; a value that starts with `base64url:` is decoded. */
export function actionVariables(args: KernelArguments): Record<string, string> {
  return Object.fromEntries(
    args.entries.flatMap(({ key, value = '' }) => {
      if (!key.startsWith(SET)) return [];
      const [, encoded] = /^base64url:(.*)$/.exec(value) ?? [];
      return [
        [key.slice(SET.length), encoded === undefined ? value : Buffer.from(encoded, 'base64url').toString()],
      ];
    }),
  );
}

/** kindling.action=<name>: runs that one action and prints `KINDLING-RESULT {json}`. The caller powers off. */
export async function runOneAction(
  name: string,
  args: KernelArguments,
  consoles: Consoles,
  view: View,
): Promise<void> {
  view.line('action', `running ${name}`);
  let lastProgress = '';
  const outcome = await startChild(name, actionVariables(args), {
    onOutput: (_stream, line) => view.line('action', line),
    onEvent: (event) => {
      if (event.type === 'log') view.line('action', event.message);
      if (event.type === 'plan') view.line('action', event.summary.join('\n'));
      if (event.type !== 'progress') return;
      const text = `${event.stage}${event.percent === undefined ? '' : ` ${Math.floor(event.percent / 10) * 10} %`}`;
      if (text !== lastProgress) view.line('action', text);
      lastProgress = text;
    },
  });
  const exitCode = outcome.status === 'success' ? 0 : exitCodeOf(outcome.error.code);
  const summary =
    outcome.status === 'success' ? outcome.summary : `${outcome.error.code}: ${outcome.error.message}`;
  view.line('action', `${name}: ${outcome.status}, ${summary}`);
  consoles.marker('RESULT', { action: name, exitCode, ...outcome });
}

function exitCodeOf(code: string): number {
  return code in ERROR_CODES ? ERROR_CODES[code as ErrorCode].exit : 1;
}

/** Throws early, before minutes of bring-up, for an action that does not exist. */
export function checkAction(name: string): void {
  requireAction(name);
}
