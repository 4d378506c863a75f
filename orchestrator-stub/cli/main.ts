#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { describeError, toKindlingError } from '../../protocol/error.ts';
import { programVersion } from './version.ts';

/** `kindling`: everything an operator does. One line per sub-command; each module is loaded only when it is used. */
const program = new Command('kindling')
  .description('Turns bare metal into running edge nodes')
  .version(programVersion())
  .exitOverride();

try {
  await program.parseAsync();
} catch (thrown) {
  if (thrown instanceof CommanderError) {
    process.exitCode = thrown.exitCode === 0 ? 0 : 2;
  } else {
    console.error(describeError(thrown));
    process.exitCode = toKindlingError(thrown).exitCode;
  }
}
