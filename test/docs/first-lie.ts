import { waitFor } from '../../system/wait.ts';
import { fencedBlocks, type TypedCommand, typedCommands } from './fenced-blocks.ts';
import type { Background, Reader } from './reader.ts';
import { differenceFromShown } from './shown-output.ts';
import { COMMANDS } from './unmarked-blocks.ts';

const SHORT_MS = 120_000;
const LONG_MS = 1_800_000;

/** Types every runnable command of a page in order, and saves the files that it shows. Gives the first that fails or prints something else than the page shows. */
export async function firstLie(
  markdown: string,
  reader: Reader,
  { withLong = false } = {},
): Promise<string | undefined> {
  const backgrounds: { line: number; program: Background }[] = [];
  for (const block of fencedBlocks(markdown)) {
    const file = /^file: (\S+)$/.exec(block.mark)?.[1];
    if (file !== undefined) await reader.save(file, `${block.lines.join('\n')}\n`);
    const marks = block.mark.split(' ');
    const isLong = marks.includes('long');
    if (!COMMANDS.includes(block.language) || !marks.includes('runnable') || (isLong && !withLong)) continue;
    for (const command of typedCommands(block)) {
      const timeoutMs = isLong ? LONG_MS : SHORT_MS;
      let lie: string | undefined;
      if (marks.includes('background')) {
        const program = await reader.typeInBackground(command.text);
        backgrounds.push({ line: command.line, program });
        lie = await lieOfBackground(command, program, timeoutMs);
      } else lie = lieOf(command, await reader.type(command.text, timeoutMs));
      if (lie !== undefined) return `${command.line}: ${command.text}: ${lie}`;
    }
  }
  for (const { line, program } of backgrounds) {
    const exitCode = program.exitCode();
    if (exitCode) return `${line}: ended with ${exitCode}: ${program.printed().join('\n')}`;
  }
  return undefined;
}

function lieOf(
  { shown }: TypedCommand,
  { exitCode, printed }: { exitCode: number | undefined; printed: string[] },
): string | undefined {
  if (exitCode === undefined) return 'did not end in time';
  if (exitCode !== 0) return `fails with ${exitCode}: ${printed.join('\n')}`;
  return shown && differenceFromShown(shown, printed);
}

/** It goes on when the next command is typed; what the page shows of it must have come by then. */
async function lieOfBackground(
  { shown = [] }: TypedCommand,
  program: Background,
  timeoutMs: number,
): Promise<string | undefined> {
  const said = () => differenceFromShown(shown, program.printed(), { mayGoOn: true });
  const isThere = () => {
    const hasEnded = program.exitCode() !== undefined;
    return said() === undefined || hasEnded || undefined;
  };
  await waitFor(isThere, { name: shown.join('\n'), timeoutMs }).catch(() => {});
  const exitCode = program.exitCode();
  const difference = said();
  if (difference !== undefined && exitCode !== undefined)
    return `ended with ${exitCode}: ${program.printed().join('\n')}`;
  return difference;
}
