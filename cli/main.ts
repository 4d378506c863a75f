#!/usr/bin/env node
import { Command } from 'commander';
import { programVersion } from '../system/program-version.ts';
import { COMMANDS } from './commands.ts';
import { runProgram } from './run-program.ts';

/** `kindling`: everything an operator does. */
const program = new Command('kindling')
  .description('Turns bare metal into running edge nodes')
  .version(await programVersion());

const asked = process.argv[2] === 'help' ? process.argv[3] : process.argv[2];
await runProgram(program, async () => {
  for (const [name, summary, load] of COMMANDS) {
    const command = program.command(name).description(summary);
    if (asked === name) (await load())(command);
  }
});
