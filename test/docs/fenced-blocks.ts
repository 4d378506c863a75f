/** A fenced block of a page: what stands behind its fence, and its lines without the indentation of the fence. */
export interface FencedBlock {
  /** Of the fence, counted from 1; the first line of the text is the next one. */
  line: number;
  language: string;
  /** The rest behind the fence: `runnable`, `not-run: why`. GitHub shows none of it. */
  mark: string;
  lines: readonly string[];
}

/** A command to be typed. */
export interface TypedCommand {
  line: number;
  text: string;
  /** The lines that the page says are printed; undefined where it shows no output. */
  shown: readonly string[] | undefined;
}

export function fencedBlocks(markdown: string): FencedBlock[] {
  const blocks: FencedBlock[] = [];
  let open: { indent: number; lines: string[] } | undefined;
  for (const [index, text] of markdown.split('\n').entries()) {
    const [, indent = '', info] = /^(\s*)(?:```|~~~)(.*)$/.exec(text) ?? [];
    if (info === undefined) open?.lines.push(text.slice(open.indent));
    else if (open) open = undefined;
    else {
      const [, language = '', mark = ''] = /^(\S*)\s*(.*?)\s*$/.exec(info) ?? [];
      open = { indent: indent.length, lines: [] };
      blocks.push({ line: index + 1, language, mark, lines: open.lines });
    }
  }
  return blocks;
}

/** The commands of a block. Where it shows a prompt, lines without one are what the program printed. */
export function typedCommands({ line, lines }: FencedBlock): TypedCommand[] {
  const hasPrompt = lines.some((text) => text.startsWith('$ '));
  const commands: { line: number; text: string; shown: string[] | undefined }[] = [];
  let isGoingOn = false;
  for (const [index, text] of lines.entries()) {
    const last = commands.at(-1);
    if (isGoingOn && last) last.text += `\n${text}`;
    else if (!hasPrompt || text.startsWith('$ ')) {
      const command = text.replace(/^\$ /, '').trim();
      if (command === '' || command.startsWith('#')) continue;
      commands.push({ line: line + 1 + index, text: command, shown: hasPrompt ? [] : undefined });
    } else {
      last?.shown?.push(text);
      continue;
    }
    isGoingOn = text.endsWith('\\');
  }
  return commands;
}
