import { fromBytes, toBytes } from '../../../formats/go-text.ts';
import { BoolPointer, GoMap, Int, List, Struct, type Value } from './values.ts';

/** toYaml of Tinkerbell: sigs.k8s.io/yaml, whose layout is that of Go's yaml.v2, with texts quoted for readers of YAML 1.1. */
export function yamlText(value: Value): string {
  return node(value, 0, false).replace(/^ /, '').replace(/\n$/, '');
}

const BEST_WIDTH = 80;
const MAX_SIMPLE_KEY = 128;

/** The text after a key or dash, from the space or line break on. */
function node(value: Value, indent: number, isInList: boolean): string {
  if (value instanceof Struct) return node(marshaled(value), indent, isInList);
  if (value instanceof GoMap) {
    if (value.entries.size === 0) return ' {}\n';
    const lines = [...value.entries]
      .sort(([a], [b]) => compareKeys(a, b))
      .map(([key, each]) => {
        const isLong = key.includes('\n') || key.length > MAX_SIMPLE_KEY;
        const name = scalar(key, indent + (isLong ? 2 : 0), indent, !isLong);
        if (isLong) return longEntry(name, each, indent);
        // A list stands as deep as its key.
        const depth = each instanceof List ? indent : indent + 2;
        return `${' '.repeat(indent)}${name}:${afterKey(each, depth, indent + name.length + 1)}`;
      });
    return block(lines.join(''), indent, isInList);
  }
  if (value instanceof List) {
    if (value.items.length === 0) return value.isNil ? ' null\n' : ' []\n';
    const lines = value.items.map((each) => `${' '.repeat(indent)}-${node(each, indent + 2, true)}`);
    return block(lines.join(''), indent, isInList);
  }
  return ` ${scalar(value, indent, indent, false)}\n`;
}

/** What is no simple key stands after a question mark. */
function longEntry(name: string, value: Value, indent: number): string {
  const margin = ' '.repeat(indent);
  return `${margin}? ${name}\n${margin}:${node(value, indent + 2, true)}`;
}

function afterKey(value: Value, indent: number, column: number): string {
  if (value instanceof Struct) return afterKey(marshaled(value), indent, column);
  if (value instanceof GoMap || value instanceof List) {
    const text = node(value, indent, false);
    return [' {}\n', ' []\n', ' null\n'].includes(text) ? text : `\n${text}`;
  }
  return ` ${scalar(value, indent, column + 1, false)}\n`;
}

/** In a list, the first line follows the dash. */
function block(lines: string, indent: number, isInList: boolean): string {
  return isInList ? ` ${lines.slice(indent)}` : lines;
}

/** What a struct is in JSON: times and versions are texts. */
export function marshaled(value: Struct): Value {
  if (value.text === undefined) return structMap(value);
  return value.text.replace(/^(\S+) (\S+) \+0000 UTC$/, '$1T$2Z');
}

function structMap(value: Struct): GoMap {
  const entries = [...value.fields].filter(([, each]) => !isEmpty(each));
  return new GoMap(entries.map(([name, each]) => [value.json.get(name) ?? name, each]));
}

/** What `omitempty` leaves out. */
function isEmpty(value: Value): boolean {
  if (value instanceof List) return value.items.length === 0;
  if (value instanceof Int) return value.value === 0n;
  return (
    value === '' ||
    value === false ||
    value === null ||
    value === 0 ||
    (typeof value === 'object' && 'to' in value)
  );
}

function scalar(value: Value, indent: number, column: number, isKey: boolean): string {
  if (typeof value === 'string') return text(value, indent, column, isKey);
  if (value instanceof Int) return String(value.value);
  if (typeof value === 'boolean') return String(value);
  if (value instanceof BoolPointer) return String(value.value);
  if (typeof value === 'number') return String(value).replace(/e([+-])(\d)$/, 'e$10$2');
  return 'null';
}

/** What a reader of YAML 1.1 would not take for a text. */
const NOT_A_TEXT =
  /^(?:~|null|Null|NULL|y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF|true|True|TRUE|false|False|FALSE|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|[-+]?0[xX][0-9a-fA-F_]+|[-+]?0[oO]?[0-7_]+|[-+]?0[bB][01_]+|[-+]?\d[\d_]*|[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.\d*)?|\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d\d?:\d\d?:\d\d?(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::?\d\d)?))?)?)$/;

function text(bytes: string, indent: number, column: number, isKey: boolean): string {
  const all = fromBytes(bytes);
  if (all === '' || NOT_A_TEXT.test(all)) return doubleQuoted(all, indent, column, isKey);
  const hasSpecial =
    /[^\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u.test(all) ||
    /\ufeff/.test(all);
  const hasSpaceBreak = / \n/.test(all);
  const hasBreakSpace = /\n /.test(all);
  const isOpen = /^[ \n]|[ \n]$/.test(all);
  if (all.includes('\n')) {
    if (!isKey && !hasSpecial && !hasSpaceBreak && !/ $/.test(all)) return literal(all, indent);
    if (isKey || hasSpecial || hasSpaceBreak || hasBreakSpace || / $/.test(all))
      return doubleQuoted(all, indent, column, isKey);
  }
  if (hasSpecial) return doubleQuoted(all, indent, column, isKey);
  const isPlain =
    !isOpen && !/^(?:[#,[\]{}&*!|>'"%@`]|[-?:](?:\s|$)|---|\.\.\.)/.test(all) && !/: | #|:$/.test(all);
  if (isPlain) return toBytes(folded(all, indent, column, isKey));
  return toBytes(`'${folded(all.replaceAll("'", "''"), indent, column + 1, isKey)}'`);
}

/** Breaks at single spaces once the line is longer than 80 columns. */
function folded(all: string, indent: number, column: number, isKey: boolean): string {
  if (isKey) return all;
  let result = '';
  let at = column;
  const runes = [...all];
  for (const [index, rune] of runes.entries()) {
    const isSingle = rune === ' ' && runes[index - 1] !== ' ' && runes[index + 1] !== ' ';
    if (isSingle && at > BEST_WIDTH && index > 0 && index < runes.length - 1) {
      result += `\n${' '.repeat(indent)}`;
      at = indent;
    } else {
      result += rune;
      at++;
    }
  }
  return result;
}

function literal(all: string, indent: number): string {
  const margin = ' '.repeat(indent || 2);
  const hint = /^[ \n]/.test(all) ? '2' : '';
  const end = all.endsWith('\n') ? (all === '\n' || all.endsWith('\n\n') ? '+' : '') : '-';
  const lines = all.replace(/\n$/, '').split('\n');
  return toBytes(`|${hint}${end}\n${lines.map((line) => (line ? margin + line : '')).join('\n')}`);
}

const ESCAPES: Record<string, string> = {
  '\0': '\\0',
  '\x07': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '\x1b': '\\e',
  '"': '\\"',
  '\\': '\\\\',
  '\x85': '\\N',
  '\xa0': '\\_',
  '\u2028': '\\L',
  '\u2029': '\\P',
};

function doubleQuoted(all: string, indent: number, column: number, isKey: boolean): string {
  let result = '"';
  let at = column + 1;
  const runes = [...all];
  for (const [index, rune] of runes.entries()) {
    const code = rune.codePointAt(0) ?? 0;
    const isShown =
      (code >= 0x20 && code <= 0x7e) ||
      (code >= 0xa1 && code !== 0xfeff && code !== 0x2028 && code !== 0x2029);
    const hex = code.toString(16).toUpperCase();
    const written =
      ESCAPES[rune] ??
      (isShown
        ? rune
        : code <= 0xff
          ? `\\x${hex.padStart(2, '0')}`
          : code <= 0xffff
            ? `\\u${hex.padStart(4, '0')}`
            : `\\U${hex.padStart(8, '0')}`);
    const canBreak =
      rune === ' ' && !isKey && index > 0 && index < runes.length - 1 && runes[index - 1] !== ' ';
    if (canBreak && at > BEST_WIDTH) {
      result += `\n${' '.repeat(indent)}${runes[index + 1] === ' ' ? '\\' : ''}`;
      at = indent;
    } else {
      result += written;
      at += written.length;
    }
  }
  return toBytes(`${result}"`);
}

/** yaml.v2 sorts keys as people do: numbers in them by value, letters after everything else. */
function compareKeys(first: string, second: string): number {
  const [a, b] = [[...fromBytes(first)], [...fromBytes(second)]];
  const isLetter = (rune: string) => /^\p{L}$/u.test(rune);
  for (let at = 0; at < a.length && at < b.length; at++) {
    const [x = '', y = ''] = [a[at], b[at]];
    if (x === y) continue;
    if (isLetter(x) && isLetter(y)) return x < y ? -1 : 1;
    if (isLetter(x) || isLetter(y)) return isLetter(y) ? -1 : 1;
    let lead = '';
    if (x === '0' || y === '0') {
      const before = /\d*$/.exec(a.slice(0, at).join(''))?.[0] ?? '';
      if (/[1-9]/.test(before)) lead = '1';
    }
    const digits = (runes: string[]) => /^\d*/.exec(runes.slice(at).join(''))?.[0] ?? '';
    const [m, n] = [digits(a), digits(b)];
    const difference = BigInt(lead + m || '0') - BigInt(lead + n || '0');
    if (difference !== 0n) return difference < 0n ? -1 : 1;
    if (m.length !== n.length) return m.length - n.length;
    return x < y ? -1 : 1;
  }
  return a.length - b.length;
}
