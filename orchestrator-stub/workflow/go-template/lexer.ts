import { fromBytes, toBytes } from '../../../formats/go-text.ts';
import type { Source } from './source.ts';

export type TokenKind =
  | 'text'
  | 'open' // {{
  | 'close' // }}
  | 'word' // function or keyword
  | 'field' // .name
  | 'dot'
  | 'variable' // $ or $name
  | 'number'
  | 'string'
  | 'declare' // :=
  | 'assign' // =
  | 'pipe'
  | 'comma'
  | 'left'
  | 'right'
  | 'character' // any other that can be printed: the parser refuses it
  | 'end-of-file';

export interface Token {
  kind: TokenKind;
  /** As written; for strings the value. */
  value: string;
  offset: number;
  /** `.a .b` are two operands, `.a.b` is one: the space decides. */
  hasSpaceBefore: boolean;
}

const SPACE = /[ \t\r\n]/;

/** Cuts a template into tokens with the rules of Go's text/template, trim markers and comments included. */
export function tokenize(source: Source): Token[] {
  const { text } = source;
  const tokens: Token[] = [];
  let at = 0;
  let trimNext = false;
  for (;;) {
    const open = text.indexOf('{{', at);
    const end = open === -1 ? text.length : open;
    let piece = text.slice(at, end);
    if (trimNext) piece = piece.replace(/^[ \t\r\n]+/, '');
    const trimsLeft = open !== -1 && text[open + 2] === '-' && SPACE.test(text[open + 3] ?? '');
    if (trimsLeft) piece = piece.replace(/[ \t\r\n]+$/, '');
    if (piece) tokens.push({ kind: 'text', value: piece, offset: at, hasSpaceBefore: false });
    if (open === -1) break;
    const inside = open + (trimsLeft ? 4 : 2);
    const action = tokenizeAction(source, inside, open);
    if (action.tokens) {
      tokens.push({ kind: 'open', value: '{{', offset: open, hasSpaceBefore: false }, ...action.tokens);
    }
    at = action.end;
    trimNext = action.trimsRight;
  }
  tokens.push({ kind: 'end-of-file', value: '', offset: text.length, hasSpaceBefore: false });
  return tokens;
}

interface ActionTokens {
  /** Undefined for a comment. */
  tokens?: Token[];
  end: number;
  trimsRight: boolean;
}

function tokenizeAction(source: Source, start: number, open: number): ActionTokens {
  const { text } = source;
  if (text.startsWith('/*', start)) return skipComment(source, start, open);
  const tokens: Token[] = [];
  let at = start;
  let hasSpaceBefore = false;
  const push = (kind: TokenKind, value: string, length: number) => {
    tokens.push({ kind, value, offset: at, hasSpaceBefore });
    at += length;
    hasSpaceBefore = false;
  };
  for (;;) {
    const character = text[at];
    if (character === undefined) throw source.parseError(open, 'unclosed action');
    if (SPACE.test(character)) {
      if (text.startsWith('-}}', at + 1)) {
        tokens.push({ kind: 'close', value: '}}', offset: at, hasSpaceBefore });
        return { tokens, end: at + 4, trimsRight: true };
      }
      hasSpaceBefore = true;
      at++;
    } else if (text.startsWith('}}', at)) {
      push('close', '}}', 2);
      return { tokens, end: at, trimsRight: false };
    } else if (character === '"') {
      const literal = matchAt(/"(?:[^"\\\n]|\\.)*"/y, text, at);
      if (!literal) throw source.parseError(at, 'unterminated quoted string');
      push('string', unquote(source, literal, at), literal.length);
    } else if (character === '`') {
      const end = text.indexOf('`', at + 1);
      if (end === -1) throw source.parseError(at, 'unterminated raw quoted string');
      push('string', text.slice(at + 1, end), end + 1 - at);
    } else if (character === "'") {
      const literal = matchAt(/'(?:[^'\\\n]|\\.)+'/y, text, at);
      if (!literal) throw source.parseError(at, 'unterminated character constant');
      push('number', String(fromBytes(unquote(source, literal, at)).codePointAt(0) ?? 0), literal.length);
    } else if (text.startsWith(':=', at)) push('declare', ':=', 2);
    else if (character === '=') push('assign', '=', 1);
    else if (character === '|') push('pipe', '|', 1);
    else if (character === ',') push('comma', ',', 1);
    else if (character === '(') push('left', '(', 1);
    else if (character === ')') push('right', ')', 1);
    else {
      const [kind, value] = matchWord(text, at);
      if (kind) push(kind, value, value.length);
      else if (/[ -~]/.test(character)) push('character', character, 1);
      else throw source.parseError(at, `unrecognized character in action: ${unicodeName(character)}`);
    }
  }
}

const WORDS: [TokenKind, RegExp][] = [
  [
    'number',
    /[+-]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/y,
  ],
  ['field', /\.[A-Za-z_\x80-\xff][\w\x80-\xff]*/y],
  ['dot', /\./y],
  ['variable', /\$[\w\x80-\xff]*/y],
  ['word', /[A-Za-z_\x80-\xff][\w\x80-\xff]*/y],
];

function matchWord(text: string, at: number): [TokenKind | undefined, string] {
  for (const [kind, pattern] of WORDS) {
    const value = matchAt(pattern, text, at);
    if (value) return [kind, value];
  }
  return [undefined, ''];
}

/** As `%#U` prints it. */
function unicodeName(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function skipComment(source: Source, start: number, open: number): ActionTokens {
  const end = source.text.indexOf('*/', start);
  if (end === -1) throw source.parseError(open, 'unclosed comment');
  const after = source.text.slice(end + 2);
  if (after.startsWith('}}')) return { end: end + 4, trimsRight: false };
  const trimming = /^[ \t\r\n]-}}/.exec(after);
  if (!trimming) throw source.parseError(open, 'comment ends before closing delimiter');
  return { end: end + 2 + trimming[0].length, trimsRight: true };
}

const ESCAPES: Record<string, string> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
  "'": "'",
};

function unquote(source: Source, literal: string, offset: number): string {
  return literal
    .slice(1, -1)
    .replace(
      /\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)/gs,
      (_whole, sequence: string) => {
        if (/^[uU]./.test(sequence))
          return toBytes(String.fromCodePoint(Number.parseInt(sequence.slice(1), 16)));
        if (/^x./.test(sequence)) return String.fromCharCode(Number.parseInt(sequence.slice(1), 16));
        if (/^[0-7]{3}$/.test(sequence)) return String.fromCharCode(Number.parseInt(sequence, 8));
        const plain = ESCAPES[sequence];
        if (plain === undefined) throw source.parseError(offset, `invalid syntax in ${literal}`);
        return plain;
      },
    );
}
