/** A fenced block of a page, with its line and what stands behind the fence. */
interface Block {
  line: number;
  info: string;
}

function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let isInside = false;
  for (const [index, text] of markdown.split('\n').entries()) {
    const info = /^\s*(?:```|~~~)(.*)$/.exec(text)?.[1];
    if (info === undefined) continue;
    if (!isInside) blocks.push({ line: index + 1, info: info.trim() });
    isInside = !isInside;
  }
  return blocks;
}

const COMMANDS = ['sh', 'console'];
/** `background`: it goes on beside the next ones; `long`: it boots a machine. GitHub shows none of it. */
const MARK = /^(runnable( long)?( background)?|not-run: \S.*)$/;

/** Blocks that do not say what they are, and commands that do not say whether they can be run as they stand. */
export function unmarkedBlocks(markdown: string): string[] {
  return blocksOf(markdown).flatMap(({ line, info }) => {
    const [, language = '', mark = ''] = /^(\S*)\s*(.*)$/.exec(info) ?? [];
    if (language === '') return [`${line}: say what the block is: sh, console, text, yaml, …`];
    if (!COMMANDS.includes(language) || MARK.test(mark)) return [];
    return [`${line}: say whether it can be run: “${language} runnable” or “${language} not-run: why”`];
  });
}
