import type { Command } from 'commander';
import { programVersion } from '../system/program-version.ts';
import { COMMANDS } from './commands.ts';

/** Gives the program its commands. Those that are not loaded are there with name and summary alone. */
export async function defineKindling(program: Command, isLoaded: (name: string) => boolean): Promise<void> {
  program.description('Turns bare metal into running edge nodes').version(await programVersion());
  for (const [name, summary, load] of COMMANDS) {
    const command = program.command(name).description(summary);
    if (isLoaded(name)) (await load())(command);
  }
}
