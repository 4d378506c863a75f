import { Command, type Option } from 'commander';
import { defineKindling } from '../../cli/program.ts';
import { defaultStateFolder } from '../../site/state-folder.ts';

/** `kindling` with every command and option loaded: what man pages, completion and the config file are made from. */
export async function loadWholeProgram(): Promise<Command> {
  const program = new Command('kindling');
  await defineKindling(program, () => true);
  return program;
}

/** A command and all below it, each with the words that lead to it: "kindling node list". */
export function listCommands(command: Command, before = ''): { words: string; command: Command }[] {
  const words = `${before} ${command.name()}`.trim();
  return [{ words, command }, ...command.commands.flatMap((below) => listCommands(below, words))];
}

/** As a person types them, short and long, with --help, which every command has. */
export function optionNames(command: Command): string[] {
  const own = command.options
    .flatMap(({ short, long }) => [short, long])
    .filter((name) => name !== undefined);
  return [...own, '--help'];
}

/** The default as text; undefined where there is none to tell. */
export function defaultOf({ defaultValue, defaultValueDescription }: Option): string | undefined {
  if (defaultValueDescription !== undefined) return defaultValueDescription;
  if (typeof defaultValue !== 'string' && typeof defaultValue !== 'number') return undefined;
  // not the home of the person who makes the release
  return defaultValue === defaultStateFolder() ? '~/.local/state/kindling' : String(defaultValue);
}
