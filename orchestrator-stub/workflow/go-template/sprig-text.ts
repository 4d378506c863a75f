import { fromBytes, quoteGo, toBytes } from '../../../formats/go-text.ts';
import { shellQuote } from '../../../system/shell-quote.ts';
import { fail } from './errors.ts';
import { abbreviate, initials, isSpace, swapCase, uncapitalize, wrapText } from './go-text.ts';
import { printValue, strval } from './print.ts';
import { sprintf } from './printf.ts';
import { integer, type TemplateFunction, takes, takesTexts, text } from './signature.ts';
import { GoMap, List, type Value } from './values.ts';
import { camelCase, lowerWords } from './word-case.ts';

const MAX_LENGTH = 4_000_000;

/** A function of runes over bytes. */
function ofRunes(call: (text: string) => string): TemplateFunction {
  return takesTexts((bytes) => toBytes(call(fromBytes(bytes))));
}

const SPACE = '\\t\\n\\v\\f\\r \\u0085\\u00A0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const trimSpace = (all: string) => all.replace(new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, 'gu'), '');

export const TEXT_FUNCTIONS: Record<string, TemplateFunction> = {
  hello: takes('', () => 'Hello!'),
  quote: takes('...any', (...args) =>
    present(args)
      .map((each) => quoteGo(strval(each)))
      .join(' '),
  ),
  squote: takes('...any', (...args) =>
    present(args)
      .map((each) => `'${printValue(each)}'`)
      .join(' '),
  ),
  // Ours: sprig's squote puts quotes around a text and leaves those inside as they are, which no shell is safe from.
  shellQuote: takes('...any', (...args) =>
    args.map((each) => toBytes(shellQuote(fromBytes(each === null ? '' : strval(each))))).join(' '),
  ),
  cat: takes('...any', (...args) => {
    const given = present(args);
    return sprintf(given.map(() => '%v').join(' '), given);
  }),
  upper: ofRunes((all) => mapRunes(all, (rune) => rune.toUpperCase())),
  lower: ofRunes((all) => mapRunes(all, (rune) => rune.toLowerCase())),
  title: ofRunes((all) => all.replace(/(?<=^|[\0-/:-@[-^`{-\x7f\s])\p{L}/gu, titleRune)),
  untitle: ofRunes(uncapitalize),
  swapcase: ofRunes(swapCase),
  // These two go byte by byte and make a rune of each, in Go too.
  initials: takesTexts((all) => toBytes(initials(all))),
  nospace: takesTexts((all) => toBytes([...all].filter((byte) => !isSpace(byte)).join(''))),
  camelcase: ofRunes(camelCase),
  snakecase: ofRunes((all) => lowerWords(all, '_')),
  kebabcase: ofRunes((all) => lowerWords(all, '-')),
  trim: ofRunes(trimSpace),
  trimAll: takesTexts((cut, all) => trimAll(all, cut)),
  trimall: takesTexts((cut, all) => trimAll(all, cut)),
  trimPrefix: takesTexts((part, all) => (all.startsWith(part) ? all.slice(part.length) : all)),
  trimSuffix: takesTexts((part, all) => (all.endsWith(part) ? all.slice(0, all.length - part.length) : all)),
  contains: takesTexts((part, all) => all.includes(part)),
  hasPrefix: takesTexts((part, all) => all.startsWith(part)),
  hasSuffix: takesTexts((part, all) => all.endsWith(part)),
  replace: takesTexts((old, fresh, all) =>
    old === '' ? between(all, fresh) : all.replaceAll(old, () => fresh),
  ),
  repeat: takes('int string', (count, all) => {
    if (integer(count) < 0) fail('strings: negative Repeat count');
    return repeat(text(all), integer(count));
  }),
  plural: takes('string string int', (one = '', many = '', count) => (integer(count) === 1 ? one : many)),
  substr: takes('int int string', (start, end, all) => substring(integer(start), integer(end), text(all))),
  trunc: takes('int string', (count, all) => {
    const [length, whole] = [integer(count), text(all)];
    if (length < 0 && whole.length + length > 0) return whole.slice(whole.length + length);
    return length >= 0 ? whole.slice(0, length) : whole;
  }),
  abbrev: takes('int string', (width, all) =>
    integer(width) < 4 ? text(all) : abbreviate(text(all), 0, integer(width)),
  ),
  abbrevboth: takes('int int string', (left, right, all) => {
    const [offset, width] = [integer(left), integer(right)];
    return width < 4 || (offset > 0 && width < 7) ? text(all) : abbreviate(text(all), offset, width);
  }),
  wrap: takes('int string', (width, all) => wrapText(text(all), integer(width), '\n', false)),
  wrapWith: takes('int string string', (width, separator, all) =>
    wrapText(text(all), integer(width), text(separator) || '\n', true),
  ),
  indent: takes('int string', (spaces, all) => indent(integer(spaces), text(all))),
  nindent: takes('int string', (spaces, all) => `\n${indent(integer(spaces), text(all))}`),
  toString: takes('any', (value = null) => strval(value)),
  toStrings: takes('any', (value = null) => new List(strings(value), 'string')),
  join: takes('string any', (separator, value = null) => strings(value).join(text(separator))),
  split: takesTexts((separator, all) => numbered(splitText(all, separator))),
  splitn: takes('string int string', (separator, count, all) =>
    numbered(splitText(text(all), text(separator), integer(count))),
  ),
  splitList: takesTexts((separator, all) => new List(splitText(all, separator), 'string')),
  sortAlpha: takes('any', (value = null) =>
    value instanceof List ? new List(strings(value).sort(), 'string') : new List([strval(value)], 'string'),
  ),
};

function present(args: readonly Value[]): Value[] {
  return args.filter((value) => value !== null);
}

/** Rune by rune, as Go does it: "ß" has no upper case of one rune and stays. */
function mapRunes(all: string, change: (rune: string) => string): string {
  return [...all].map((rune) => ([...change(rune)].length === 1 ? change(rune) : rune)).join('');
}

function titleRune(rune: string): string {
  return mapRunes(rune, (each) => each.toUpperCase());
}

function strings(value: Value): string[] {
  if (value === null) return [];
  return value instanceof List ? present(value.items).map(strval) : [strval(value)];
}

function numbered(parts: readonly string[]): GoMap {
  return new GoMap(
    parts.map((part, at) => [`_${at}`, part]),
    'string',
  );
}

/** strings.SplitN; an empty separator splits after each rune. */
function splitText(all: string, separator: string, count = -1): string[] {
  if (count === 0) return [];
  const parts = separator === '' ? [...fromBytes(all)].map(toBytes) : all.split(separator);
  if (count < 0 || parts.length <= count) return parts;
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
}

function between(all: string, fresh: string): string {
  return fresh + [...fromBytes(all)].map((rune) => toBytes(rune) + fresh).join('');
}

function trimAll(all: string, cut: string): string {
  const set = new Set(fromBytes(cut));
  const runes = [...fromBytes(all)];
  const start = runes.findIndex((rune) => !set.has(rune));
  if (start === -1) return '';
  return toBytes(runes.slice(start, runes.findLastIndex((rune) => !set.has(rune)) + 1).join(''));
}

function substring(start: number, end: number, all: string): string {
  const bounds = (from: number, to: number) => {
    if (to > all.length) fail(`runtime error: slice bounds out of range [:${to}] with length ${all.length}`);
    if (to < 0) fail(`runtime error: slice bounds out of range [:${to}]`);
    if (from > to) fail(`runtime error: slice bounds out of range [${from}:${to}]`);
    return all.slice(from, to);
  };
  if (start < 0) return bounds(0, end);
  return bounds(start, end < 0 || end > all.length ? all.length : end);
}

function repeat(all: string, count: number): string {
  if (all.length * count > MAX_LENGTH) fail(`the text would be too long: ${all.length * count} bytes`);
  return all.repeat(count);
}

function indent(spaces: number, all: string): string {
  if (spaces < 0) fail('strings: negative Repeat count');
  const margin = repeat(' ', spaces);
  return margin + all.replaceAll('\n', `\n${margin}`);
}
