/** A command line that a page tells its reader to type, or only mentions. */
export interface DocumentedCommand {
  line: number;
  words: string[];
  /** In a code block it is to be typed as it stands; in a sentence arguments may be missing. */
  isMention: boolean;
}

const FENCE = /^\s*(```|~~~)/;
const OURS = /^(kindling|npm run|npm test)(\s|$)/;

/** Every `kindling …` and `npm run …` of a page, in code blocks and in inline code. */
export function documentedCommands(markdown: string): DocumentedCommand[] {
  const commands: DocumentedCommand[] = [];
  let block: { text: string; line: number }[] | undefined;
  for (const [index, text] of markdown.split('\n').entries()) {
    const line = index + 1;
    if (FENCE.test(text)) {
      commands.push(...typedIn(block ?? []));
      block = block ? undefined : [];
    } else if (block) block.push({ text: text.trim(), line });
    else {
      for (const [, code = ''] of text.matchAll(/`([^`]+)`/g)) {
        if (OURS.test(code)) commands.push({ line, words: wordsOf(code), isMention: true });
      }
    }
  }
  return commands;
}

/** The commands of a code block. Where it shows a prompt, lines without one are what the program printed. */
function typedIn(block: readonly { text: string; line: number }[]): DocumentedCommand[] {
  const commands: DocumentedCommand[] = [];
  const hasPrompt = block.some(({ text }) => text.startsWith('$ '));
  let begun = '';
  for (const { text, line } of block) {
    if (begun === '' && hasPrompt && !text.startsWith('$ ')) continue;
    const command = begun + text.replace(/^\$ /, '');
    begun = command.endsWith('\\') ? command.slice(0, -1) : '';
    if (begun === '' && OURS.test(command))
      commands.push({ line, words: wordsOf(command), isMention: false });
  }
  return commands;
}

/** Words as a shell splits them, without the comment, what is piped or redirected, and the brackets of what is optional. */
function wordsOf(command: string): string[] {
  const words = command.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  const end = words.findIndex((word) => /^(#|\||>|&&?$|;)/.test(word));
  return (end === -1 ? words : words.slice(0, end))
    .filter((word) => word !== '…' && word !== '...')
    .map((word) => word.replaceAll(/^[['"]+|[\]'"]+$/g, ''));
}
