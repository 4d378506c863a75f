import { type Command, CommanderError } from 'commander';
import { describeError, toKindlingError } from '../protocol/error.ts';

/** Defines the program's commands, runs the one that was asked for, and turns how it ended into an exit code. */
export async function runProgram(program: Command, define: () => Promise<void>): Promise<void> {
  program.exitOverride();
  try {
    await define();
    await program.parseAsync();
  } catch (thrown) {
    if (thrown instanceof CommanderError) {
      process.exitCode = thrown.exitCode === 0 ? 0 : 2;
    } else {
      console.error(describeError(thrown));
      process.exitCode = toKindlingError(thrown).exitCode;
    }
  }
}
