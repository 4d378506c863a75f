import { createHash } from 'node:crypto';
import { parse as parseYaml, stringify as stringifyYaml } from 'yaml';
import { shellQuote } from '../../../system/shell-quote.ts';
import type { TemplateFunction } from './go-functions.ts';
import { quoteGo } from './printf.ts';
import {
  areEqual,
  compare,
  hasKey,
  isMap,
  isTrue,
  sortedKeys,
  toInteger,
  toList,
  toText,
  typeName,
  type Value,
} from './values.ts';

const MAX_REPEAT = 1_000_000;

/** The functions of sprig that templates for provisioning use; none reads the clock, the environment or the network. */
export const SPRIG_FUNCTIONS: Record<string, TemplateFunction> = {
  // --- defaults ---
  default: (fallback, value) => (isTrue(value) ? value : fallback),
  empty: (value) => !isTrue(value),
  coalesce: (...args) => args.find((value) => isTrue(value)) ?? null,
  ternary: (yes, no, condition) => (isTrue(condition) ? yes : no),
  all: (...args) => args.every((value) => isTrue(value)),
  any: (...args) => args.some((value) => isTrue(value)),
  fail: (message) => {
    throw new Error(toText(message));
  },

  // --- text ---
  quote: (...args) =>
    args
      .filter((v) => v !== null && v !== undefined)
      .map((v) => quoteGo(toText(v)))
      .join(' '),
  squote: (...args) =>
    args
      .filter((v) => v !== null && v !== undefined)
      .map((v) => `'${toText(v)}'`)
      .join(' '),
  // Ours: sprig's squote puts quotes around a text and leaves those inside as they are, which no shell is safe from.
  shellQuote: (...args) => args.map((v) => shellQuote(toText(v ?? ''))).join(' '),
  upper: (text) => toText(text).toUpperCase(),
  lower: (text) => toText(text).toLowerCase(),
  title: (text) =>
    toText(text).replace(
      /(^|[^\p{L}\p{N}_'])(\p{L})/gu,
      (_all, before, letter) => before + letter.toUpperCase(),
    ),
  trim: (text) => toText(text).trim(),
  trimAll: (cut, text) => trimWith(toText(text), toText(cut)),
  trimPrefix: (prefix, text) =>
    toText(text).startsWith(toText(prefix)) ? toText(text).slice(toText(prefix).length) : text,
  trimSuffix: (suffix, text) =>
    toText(suffix) && toText(text).endsWith(toText(suffix))
      ? toText(text).slice(0, -toText(suffix).length)
      : text,
  replace: (old, next, text) => toText(text).replaceAll(toText(old), () => toText(next)),
  contains: (part, text) => toText(text).includes(toText(part)),
  hasPrefix: (prefix, text) => toText(text).startsWith(toText(prefix)),
  hasSuffix: (suffix, text) => toText(text).endsWith(toText(suffix)),
  repeat: (count, text) => {
    if (toInteger(count) * toText(text).length > MAX_REPEAT) throw new Error('repeat: too long');
    return toText(text).repeat(Math.max(0, toInteger(count)));
  },
  substr: (start, end, text) => {
    const [from, to] = [toInteger(start), toInteger(end)];
    if (from < 0) return toText(text).slice(0, to);
    return to < 0 || to > toText(text).length ? toText(text).slice(from) : toText(text).slice(from, to);
  },
  trunc: (count, text) => {
    const length = toInteger(count);
    const whole = toText(text);
    if (length < 0) return whole.length + length > 0 ? whole.slice(whole.length + length) : whole;
    return whole.slice(0, length);
  },
  nospace: (text) => toText(text).replaceAll(/\s/g, ''),
  indent: (spaces, text) => indent(toInteger(spaces), toText(text)),
  nindent: (spaces, text) => `\n${indent(toInteger(spaces), toText(text))}`,
  cat: (...args) =>
    args
      .filter((value) => value !== null && value !== undefined)
      .map(toText)
      .join(' '),
  toString: (value: Value) => toText(value),
  toStrings: (list) => toList(list).map(toText),
  join: (separator, list) => (Array.isArray(list) ? list.map(toText).join(toText(separator)) : toText(list)),
  split: (separator, text) =>
    Object.fromEntries(
      toText(text)
        .split(toText(separator))
        .map((part, index) => [`_${index}`, part]),
    ),
  splitList: (separator, text) => toText(text).split(toText(separator)),
  regexMatch: (pattern, text) => regex(pattern).test(toText(text)),
  regexFind: (pattern, text) => regex(pattern).exec(toText(text))?.[0] ?? '',
  regexReplaceAll: (pattern, text, replacement) =>
    toText(text).replaceAll(regex(pattern, 'g'), toText(replacement).replaceAll(/\$\{(\w+)\}/g, '$$$1')),

  // --- numbers ---
  add: (...args) => args.reduce<number>((sum, value) => sum + toInteger(value), 0),
  add1: (value) => toInteger(value) + 1,
  sub: (a, b) => toInteger(a) - toInteger(b),
  mul: (...args) => args.reduce<number>((product, value) => product * toInteger(value), 1),
  div: (a, b) => {
    if (toInteger(b) === 0) throw new Error('runtime error: integer divide by zero');
    return Math.trunc(toInteger(a) / toInteger(b));
  },
  mod: (a, b) => {
    if (toInteger(b) === 0) throw new Error('runtime error: integer divide by zero');
    return toInteger(a) % toInteger(b);
  },
  max: (...args) => Math.max(...args.map(toInteger)),
  min: (...args) => Math.min(...args.map(toInteger)),
  int: toInteger,
  int64: toInteger,
  atoi: toInteger,
  float64: (value) => Number(toText(value)) || 0,
  until: (count) => {
    if (toInteger(count) > MAX_REPEAT) throw new Error('until: too many');
    return Array.from({ length: Math.max(0, toInteger(count)) }, (_unused, index) => index);
  },

  // --- lists ---
  list: (...args) => args,
  // sprig's own takes the place of Go's, which also cuts texts.
  slice: (list, from, to) => {
    if (!Array.isArray(list)) throw new Error(`list should be type of slice or array but ${typeName(list)}`);
    return list.slice(toInteger(from), to === undefined ? undefined : toInteger(to));
  },
  first: (list) => toList(list)[0] ?? null,
  last: (list) => toList(list).at(-1) ?? null,
  rest: (list) => toList(list).slice(1),
  initial: (list) => toList(list).slice(0, -1),
  append: (list, value) => [...toList(list), value],
  prepend: (list, value) => [value, ...toList(list)],
  concat: (...lists) => lists.flatMap(toList),
  reverse: (list) => [...toList(list)].reverse(),
  uniq: (list) =>
    toList(list).filter((value, index, all) => all.findIndex((other) => isSame(other, value)) === index),
  without: (list, ...omitted) =>
    toList(list).filter((value) => !omitted.some((other) => isSame(other, value))),
  has: (value, list) => toList(list).some((other) => isSame(other, value)),
  compact: (list) => toList(list).filter((value) => isTrue(value)),
  sortAlpha: (list) => toList(list).map(toText).sort(compare),

  // --- maps ---
  dict: (...args) => {
    const map: { [key: string]: Value } = {};
    for (let index = 0; index < args.length; index += 2)
      define(map, toText(args[index]), args[index + 1] ?? '');
    return map;
  },
  get: (map, key) => (isMap(map) && hasKey(map, toText(key)) ? map[toText(key)] : ''),
  set: (map, key, value) => {
    if (!isMap(map)) throw new Error(`set: expected a map, got ${typeName(map)}`);
    define(map, toText(key), value);
    return map;
  },
  hasKey: (map, key) => isMap(map) && hasKey(map, toText(key)),
  keys: (...maps) => maps.flatMap((map) => (isMap(map) ? sortedKeys(map) : [])),
  values: (map) => (isMap(map) ? sortedKeys(map).map((key) => map[key]) : []),
  pluck: (key, ...maps) =>
    maps.flatMap((map) => (isMap(map) && hasKey(map, toText(key)) ? [map[toText(key)]] : [])),
  dig: (...args) => {
    const [map, fallback] = [args.at(-1), args.at(-2)];
    let value: Value = map;
    for (const key of args.slice(0, -2)) {
      if (!isMap(value) || !hasKey(value, toText(key))) return fallback;
      value = value[toText(key)];
    }
    return value;
  },

  // --- encodings ---
  b64enc: (text) => Buffer.from(toText(text)).toString('base64'),
  b64dec: (text) => Buffer.from(toText(text), 'base64').toString('utf8'),
  sha1sum: (text) => createHash('sha1').update(toText(text)).digest('hex'),
  sha256sum: (text) => createHash('sha256').update(toText(text)).digest('hex'),
  sha512sum: (text) => createHash('sha512').update(toText(text)).digest('hex'),
  toJson: (value) => goJson(value),
  toPrettyJson: (value) => JSON.stringify(sorted(value), null, 2),
  toRawJson: (value) => JSON.stringify(sorted(value)),
  fromJson: (text) => JSON.parse(toText(text)) as Value,
  toYaml: (value) => stringifyYaml(sorted(value), { lineWidth: 0 }).trimEnd(),
  fromYaml: (text) => parseYaml(toText(text)) as Value,
  typeOf: typeName,
  kindOf: (value) =>
    typeName(value).replace(/^(map|\[\]).*/, (_all, kind) => (kind === 'map' ? 'map' : 'slice')),
};

function indent(spaces: number, text: string): string {
  const margin = ' '.repeat(Math.max(0, spaces));
  return margin + text.replaceAll('\n', `\n${margin}`);
}

function trimWith(text: string, cut: string): string {
  let [start, end] = [0, text.length];
  while (start < end && cut.includes(text.charAt(start))) start++;
  while (end > start && cut.includes(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

function regex(pattern: Value, flags = ''): RegExp {
  return new RegExp(toText(pattern), flags);
}

function isSame(a: Value, b: Value): boolean {
  if (typeof a === 'object' || typeof b === 'object') return JSON.stringify(a) === JSON.stringify(b);
  return typeof a === typeof b && areEqual(a, b);
}

/** Never through the setter of `__proto__`. */
function define(map: { [key: string]: Value }, key: string, value: Value): void {
  Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
}

/** encoding/json sorts keys and escapes what could end a script element. */
function goJson(value: Value): string {
  return JSON.stringify(sorted(value)).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function sorted(value: Value): Value {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isMap(value)) return value ?? null;
  return Object.fromEntries(sortedKeys(value).map((key) => [key, sorted(value[key])]));
}
