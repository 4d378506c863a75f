import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Command, CommanderError } from 'commander';
import { BENCHMARKS } from '../../bench/benchmarks.ts';
import { COMMANDS } from '../../cli/commands.ts';
import { defineDemo } from '../../demo/command.ts';
import { parseQemuArguments } from '../../lab/qemu/cli-arguments.ts';
import type { DocumentedCommand } from './documented-commands.ts';

/** A mention may leave these out. */
const INCOMPLETE = [
  'commander.missingArgument',
  'commander.missingMandatoryOptionValue',
  'commander.optionMissingArgument',
];

const { scripts } = JSON.parse(
  readFileSync(path.join(import.meta.dirname, '../../package.json'), 'utf8'),
) as { scripts: Record<string, string> };

/** Why a command of a page does not parse, judged by the tables that the programs themselves use; undefined if it does. */
export async function judgeCommand({ words, isMention }: DocumentedCommand): Promise<string | undefined> {
  const [program = '', second = '', ...rest] = words;
  if (program === 'kindling')
    return judgeWith(await kindling(), [second, ...rest].filter(Boolean), isMention);
  const script = second === 'run' ? (rest.find((word) => word !== '-s') ?? '') : second; // -s: without npm's banner
  if (script === '') return undefined;
  if (!Object.hasOwn(scripts, script)) return `package.json has no script ${script}`;
  const dashes = words.indexOf('--');
  const args = dashes === -1 ? [] : words.slice(dashes + 1);
  if (script === 'kindling') return judgeWith(await kindling(), args, isMention);
  if (script === 'demo') return judgeWith(demo(), args, isMention);
  if (script === 'qemu') return judgeQemu(args);
  const [benchmark = ''] = args;
  if (
    script === 'bench' &&
    benchmark !== '' &&
    !benchmark.startsWith('-') &&
    !Object.hasOwn(BENCHMARKS, benchmark)
  )
    return `there is no benchmark ${benchmark}`;
  return undefined;
}

async function kindling(): Promise<Command> {
  const program = quiet(new Command('kindling')).version('0');
  for (const [name, , load] of COMMANDS) (await load())(program.command(name));
  return program;
}

function demo(): Command {
  const program = quiet(new Command('demo'));
  defineDemo(program);
  return program;
}

function quiet(command: Command): Command {
  return command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} });
}

function judgeWith(program: Command, args: readonly string[], isMention: boolean): string | undefined {
  // Before any action, also that of a command which has commands of its own: it is parsed, and nothing happens.
  program.hook('preAction', () => {
    throw new Parsed();
  });
  try {
    program.parse([...args], { from: 'user' });
  } catch (error) {
    if (error instanceof Parsed) return undefined;
    if (!(error instanceof CommanderError)) return String(error);
    if (error.exitCode === 0 || error.code === 'commander.help') return undefined;
    return isMention && INCOMPLETE.includes(error.code) ? undefined : error.message;
  }
  return undefined;
}

/** The command is right. */
class Parsed extends Error {}

function judgeQemu(args: readonly string[]): string | undefined {
  try {
    parseQemuArguments(args);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
