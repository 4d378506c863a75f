const ERASED_CHARACTER = /[^\b][\b] [\b]/; // [\b] is a backspace: how a terminal is told to take a character back

/** What stands on a terminal's last line after `text`: a question and what was typed of its answer. */
export function unfinishedLine(text: string): string {
  let line = text.split(/[\r\n]/).at(-1) ?? '';
  while (ERASED_CHARACTER.test(line)) line = line.replace(ERASED_CHARACTER, '');
  return line;
}
