/** What YAML's parser says about a text it cannot read. */
export interface ParserFault {
  code: string;
  message: string;
  line: number;
  column: number;
}

export interface ExplainedFault {
  message: string;
  line: number;
  column: number;
}

/**
 * The fault in words of somebody who wrote the file. The parser notices a wrong indentation late, in words of its grammar
 * ("Nested mappings are not allowed in compact mappings"), so the lines themselves are looked at first.
 */
export function explainYamlFault(text: string, fault: ParserFault): ExplainedFault {
  return (
    tabIndentation(text, fault) ??
    leftOpen(text, fault) ??
    wrongIndentation(text, fault) ??
    inOurWords(text, fault)
  );
}

function tabIndentation(text: string, { code, line }: ParserFault): ExplainedFault | undefined {
  if (code !== 'TAB_AS_INDENT') return undefined;
  const lines = text.split('\n');
  const at = lines.findIndex((content, index) => index + 1 >= line && /^\s*\t/.test(content));
  if (at < 0) return undefined;
  const message = 'this line is indented by a tab; use blanks';
  return { message, line: at + 1, column: (lines[at] ?? '').indexOf('\t') + 1 };
}

/** A quote or bracket without its end: the parser points at the end of the text, the author wants to see the beginning. */
function leftOpen(text: string, { message, line }: ParserFault): ExplainedFault | undefined {
  const quote = /Missing closing (['"])/.exec(message)?.[1];
  const bracket = /Flow (sequence|map)/.exec(message)?.[1];
  const opening = quote ?? (bracket === 'sequence' ? '[' : bracket === 'map' ? '{' : undefined);
  if (opening === undefined) return undefined;
  const lines = text.split('\n').slice(0, line);
  const at = lines.findLastIndex((content) => content.includes(opening));
  if (at < 0) return undefined;
  const what = quote === undefined ? 'bracket' : 'quote';
  return {
    message: `the ${what} ${opening} that begins here has no end`,
    line: at + 1,
    column: (lines[at] ?? '').lastIndexOf(opening) + 1,
  };
}

interface KeyLine {
  key: string;
  indent: number;
  /** The value stands in the same line, so nothing can stand below it. */
  hasValue: boolean;
  line: number;
}

const INDENTATION_CODES = [
  'BLOCK_AS_IMPLICIT_KEY',
  'MULTILINE_IMPLICIT_KEY',
  'BAD_INDENT',
  'MISSING_CHAR',
  'UNEXPECTED_TOKEN',
];

/** The first key, from the parser's line on, that stands deeper than a finished line above it, or at no level that is open. */
function wrongIndentation(text: string, { code, line }: ParserFault): ExplainedFault | undefined {
  if (!INDENTATION_CODES.includes(code)) return undefined;
  const open: KeyLine[] = [];
  let above: KeyLine | undefined;
  for (const current of keyLines(text)) {
    let left: KeyLine | undefined;
    while ((open.at(-1)?.indent ?? -1) > current.indent) left = open.pop();
    const isSibling = open.at(-1)?.indent === current.indent;
    if (current.line >= line) {
      if (above?.hasValue && current.indent > above.indent) return notLike(current, above);
      if (left !== undefined && !isSibling) return notLike(current, left);
    }
    if (isSibling) open.pop();
    open.push(current);
    above = current;
  }
  return undefined;
}

function notLike(current: KeyLine, above: KeyLine): ExplainedFault {
  const message = `“${current.key}” is indented by ${blanks(current.indent)}, “${above.key}” above it by ${above.indent}; give both the same`;
  return { message, line: current.line, column: current.indent + 1 };
}

function blanks(count: number): string {
  return count === 1 ? '1 blank' : `${count} blanks`;
}

/** Lines of the form `key:` or `key: value`, also behind the dash of a list; the text of a block (`|`, `>`) is passed over. */
function keyLines(text: string): KeyLine[] {
  const found: KeyLine[] = [];
  let blockIndent: number | undefined;
  for (const [index, content] of text.split('\n').entries()) {
    const start = content.length - content.trimStart().length;
    if (content.trim() === '' || content.trimStart().startsWith('#')) continue;
    if (blockIndent !== undefined && start > blockIndent) continue;
    blockIndent = undefined;
    const [, dashes = '', key, value = ''] =
      /^\s*((?:-\s+)*)("[^"]*"|'[^']*'|[^\s"'#[\]{},:][^:#]*?)\s*:(?:\s+(.*))?$/.exec(content) ?? [];
    if (key === undefined) continue;
    const plain = value.replace(/(^|\s)#.*$/, '').trim();
    if (/^[|>]/.test(plain)) blockIndent = start;
    found.push({
      key,
      indent: start + dashes.length,
      hasValue: plain !== '' && !/^[|>&!]/.test(plain),
      line: index + 1,
    });
  }
  return found;
}

function inOurWords(text: string, { code, message, line, column }: ParserFault): ExplainedFault {
  const place = { line, column };
  const content = text.split('\n')[line - 1] ?? '';
  if (code === 'DUPLICATE_KEY') {
    const key = /^[^:\s]+/.exec(content.slice(column - 1))?.[0] ?? '';
    return { ...place, message: `the key “${key}” is there twice` };
  }
  if (code === 'BAD_SCALAR_START')
    return {
      ...place,
      message: `a value cannot begin with “${content.charAt(column - 1)}”; put it in quotes`,
    };
  if (code === 'BLOCK_AS_IMPLICIT_KEY')
    return { ...place, message: 'this value holds a colon with a blank behind it; put it in quotes' };
  if (code === 'MISSING_CHAR' || code === 'MULTILINE_IMPLICIT_KEY')
    return {
      ...place,
      message: `“${content.trim()}” is neither a key (with “:” and a blank behind it) nor the end of the value above`,
    };
  return { ...place, message: message.replace(/\s+/g, ' ') };
}
