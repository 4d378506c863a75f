import { fencedBlocks } from './fenced-blocks.ts';

export const COMMANDS = ['sh', 'console'];
/** `background`: it goes on beside the next ones; `long`: it boots a machine. */
const MARK = /^(runnable( long)?( background)?|not-run: \S.*)$/;

/** Blocks that do not say what they are, and commands that do not say whether they can be run as they stand. */
export function unmarkedBlocks(markdown: string): string[] {
  return fencedBlocks(markdown).flatMap(({ line, language, mark }) => {
    if (language === '') return [`${line}: say what the block is: sh, console, text, yaml, …`];
    if (!COMMANDS.includes(language) || MARK.test(mark)) return [];
    return [`${line}: say whether it can be run: “${language} runnable” or “${language} not-run: why”`];
  });
}
