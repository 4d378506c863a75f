import { fencedBlocks, typedCommands } from './fenced-blocks.ts';
import { proseLines } from './markdown-page.ts';

/** A command line that a page tells its reader to type, or only mentions. */
export interface DocumentedCommand {
  line: number;
  words: string[];
  /** In a code block it is to be typed as it stands; in a sentence arguments may be missing. */
  isMention: boolean;
}

const OURS = /^(kindling|npm run|npm test)(\s|$)/;

/** Every `kindling …` and `npm run …` of a page, in code blocks and in inline code. */
export function documentedCommands(markdown: string): DocumentedCommand[] {
  const typed = fencedBlocks(markdown).flatMap(typedCommands);
  const mentioned = proseLines(markdown).flatMap(({ text, line }) =>
    [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => ({ line, text: code })),
  );
  return [
    ...typed.map(({ line, text }) => ({ line, text: text.replaceAll('\\\n', ' '), isMention: false })),
    ...mentioned.map((mention) => ({ ...mention, isMention: true })),
  ]
    .filter(({ text }) => OURS.test(text))
    .map(({ line, text, isMention }) => ({ line, words: wordsOf(text), isMention }));
}

/** Words as a shell splits them, without the comment, what is piped or redirected, and the brackets of what is optional. */
function wordsOf(command: string): string[] {
  const words = command.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  const end = words.findIndex((word) => /^(#|\||>|&&?$|;)/.test(word));
  return (end === -1 ? words : words.slice(0, end))
    .filter((word) => word !== '…' && word !== '...')
    .map((word) => word.replaceAll(/^[['"]+|[\]'"]+$/g, ''));
}
