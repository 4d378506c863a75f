import { createWriteStream } from 'node:fs';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { type ActionEvent, encodeActionEvent } from '../../protocol/action-events.ts';
import { describeError, KindlingError, toKindlingError } from '../../protocol/error.ts';
import { leaveMicroOs } from '../../system/leave-micro-os.ts';
import { run } from '../../system/run.ts';
import { actionForImage, CATALOG, requireAction } from '../catalog.ts';
import type { Machine } from '../contract/action.ts';
import { actionHelp, actionList } from '../contract/help.ts';
import type { ContainerRequest } from '../foreign/runtime-spec.ts';
import { releaseLeftovers } from '../resources/ledger.ts';
import { runInChild } from './run-in-child.ts';
import { openLedger, releaseAbandoned } from './run-ledger.ts';

interface Invocation {
  variables: Record<string, string>;
  args: readonly string[];
  isDryRun: boolean;
  container?: ContainerRequest;
}

/**
 * `kindling-agent action <name> [--set K=V]… [--dry-run] [--help] [-- arguments]`: one action, by hand or in the child process that
 * `startChild` starts.
 */
export async function childCommand(args: string[], machine: Machine): Promise<number> {
  const { values, positionals } = parseCommandLine(args);
  const [name, ...actionArgs] = positionals;
  if (name === undefined) {
    process.stdout.write(actionList(CATALOG));
    return 0;
  }
  if (values.help) {
    process.stdout.write(actionHelp(requireAction(name)));
    return 0;
  }

  const invocation: Invocation = values.stdin
    ? (JSON.parse(await text(process.stdin)) as Invocation)
    : {
        variables: {
          ...fromEnvironment(Object.keys(actionForImage(name)?.parameters ?? {})),
          ...fromSettings(values.set ?? []),
        },
        args: actionArgs,
        isDryRun: values['dry-run'] ?? false,
      };

  const ledgerPath = process.env['KINDLING_ACTION_LEDGER'] ?? (await ledgerByHand());
  const channel = openChannel();
  const cancel = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.once(signal, () =>
      cancel.abort(new KindlingError('KND_ACTION_CANCELLED', `${name} was canceled (${signal})`)),
    );
  }
  try {
    const result = await runInChild({
      action: name,
      ...invocation,
      machine,
      signal: cancel.signal,
      emit: channel.emit,
      ledgerPath,
    });
    // The agent hands over itself, once the server knows; by hand nobody else would.
    if (result.handOver && !channel.isPipe && !invocation.isDryRun) {
      await releaseLeftovers(ledgerPath, run);
      await leaveMicroOs(result.handOver.kind);
    }
    return 0;
  } catch (thrown) {
    if (!channel.isPipe) process.stderr.write(`${describeError(thrown)}\n`);
    return toKindlingError(thrown).exitCode;
  } finally {
    await releaseLeftovers(ledgerPath, run);
    await channel.close();
  }
}

/** By hand there is no agent to clean up after a run that is killed: the next one does. */
async function ledgerByHand(): Promise<string> {
  await releaseAbandoned(run);
  const { id, path } = await openLedger();
  process.env['KINDLING_ACTION_ID'] = id;
  return path;
}

function parseCommandLine(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        set: { type: 'string', multiple: true },
        'dry-run': { type: 'boolean' },
        stdin: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (cause) {
    throw new KindlingError('KND_USAGE', cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function fromEnvironment(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function fromSettings(settings: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    settings.map((setting) => {
      const at = setting.indexOf('=');
      if (at < 1) throw new KindlingError('KND_USAGE', `--set ${setting} is not of the form NAME=VALUE`);
      return [setting.slice(0, at), setting.slice(at + 1)];
    }),
  );
}

/** Events go to the agent's pipe if there is one, else to the terminal in words. */
function openChannel() {
  const fd = Number(process.env['KINDLING_EVENTS_FD'] ?? Number.NaN);
  if (Number.isInteger(fd)) {
    const pipe = createWriteStream('', { fd });
    pipe.on('error', () => {}); // the agent is gone: finishing the action matters more than telling nobody
    return {
      isPipe: true,
      emit: (event: ActionEvent) => void pipe.write(encodeActionEvent(event)),
      close: () => new Promise<void>((resolve) => pipe.end(() => resolve())),
    };
  }
  return {
    isPipe: false,
    emit: (event: ActionEvent) => process.stdout.write(inWords(event)),
    close: async () => {},
  };
}

function inWords(event: ActionEvent): string {
  switch (event.type) {
    case 'plan':
      return `plan ${event.hash.slice(0, 12)}:\n${event.summary.map((line) => `  ${line}\n`).join('')}`;
    case 'progress':
      return `${event.stage}${event.percent === undefined ? '' : ` ${event.percent.toFixed(1)} %`}\n`;
    case 'log':
      return `${event.level}: ${event.message}\n`;
    case 'result':
      return `${event.summary}\n`;
    case 'error':
      return ''; // described in full on standard error
  }
}
