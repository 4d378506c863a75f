import { KindlingError } from '../../protocol/error.ts';

/**
 * Splits a command line into commands and words as a shell does: blanks separate words, `;` and line ends separate commands, quotes and
 * backslashes protect both. Variables, globs and pipes are not interpreted: a workflow that needs them sets DEFAULT_INTERPRETER to "/bin/sh -c".
 */
export function parseCommandLine(text: string): string[][] {
  const commands: string[][] = [[]];
  let word: string | undefined;
  let quote: '"' | "'" | undefined;
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    if (quote === "'") {
      if (char === "'") quote = undefined;
      else word = (word ?? '') + char;
    } else if (char === '\\') {
      const next = text[++i];
      if (next === undefined) throw new KindlingError('KND_COMMAND_LINE', 'CMD_LINE ends in a backslash');
      const isEscape = quote === undefined || '"\\$`\n'.includes(next);
      if (next !== '\n') word = (word ?? '') + (isEscape ? next : `\\${next}`);
    } else if (quote === '"') {
      if (char === '"') quote = undefined;
      else word = (word ?? '') + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (char === ';' || char === '\n') {
      endWord();
      commands.push([]);
    } else if (/\s/.test(char)) endWord();
    else word = (word ?? '') + char;
  }
  if (quote) throw new KindlingError('KND_COMMAND_LINE', `CMD_LINE has an unclosed ${quote}`);
  endWord();
  return commands.filter((command) => command.length > 0);

  function endWord() {
    if (word !== undefined) commands.at(-1)?.push(word);
    word = undefined;
  }
}
