import { fromBytes, isPrintable, toBytes } from '../../../formats/go-text.ts';
import { CallError, fail } from './errors.ts';
import { sprint } from './print.ts';
import { sprintf } from './printf.ts';
import { type TemplateFunction, takes, text } from './signature.ts';
import { GoMap, Int, isTrue, List, NilPointer, Struct, typeName, type Value } from './values.ts';

/** The functions every Go template has. `and` and `or` are here for their names; the renderer stops early for them. */
export const GO_FUNCTIONS: Record<string, TemplateFunction> = {
  and: takes('value ...value', (...args) => args.find((value) => !isTrue(value)) ?? args.at(-1) ?? null),
  or: takes('value ...value', (...args) => args.find((value) => isTrue(value)) ?? args.at(-1) ?? null),
  not: takes('value', (value = null) => !isTrue(value)),
  eq: takes('value ...value', (first = null, ...others) => {
    if (others.length === 0) fail('missing argument for comparison');
    return others.some((other) => areEqual(first, other));
  }),
  ne: takes('value value', (a = null, b = null) => !areEqual(a, b)),
  lt: takes('value value', (a = null, b = null) => isLess(a, b)),
  le: takes('value value', (a = null, b = null) => isLess(a, b) || areEqual(a, b)),
  gt: takes('value value', (a = null, b = null) => !(isLess(a, b) || areEqual(a, b))),
  ge: takes('value value', (a = null, b = null) => !isLess(a, b)),
  len: takes('value', (value = null) => new Int(lengthOf(value))),
  index: takes('value ...value', (item = null, ...keys) => {
    if (item === null) fail('index of untyped nil');
    return keys.reduce(indexOnce, item);
  }),
  slice: takes('value ...value', (item = null, ...positions) => sliceOf(item, positions)),
  print: takes('...any', (...args) => sprint(args)),
  println: takes('...any', (...args) => `${args.map((value) => sprint([value])).join(' ')}\n`),
  printf: takes('string ...any', (format, ...args) => sprintf(text(format), args)),
  html: takes('...any', (...args) =>
    sprint(present(args)).replace(/[<>&'"\0]/g, (byte) => HTML_ENTITIES[byte] ?? byte),
  ),
  js: takes('...any', (...args) => escapeJs(sprint(present(args)))),
  urlquery: takes('...any', (...args) => escapeQuery(sprint(present(args)))),
  call: takes('value ...value', (value = null) =>
    value === null ? fail('call of nil') : fail(`non-function of type ${typeName(value)}`),
  ),
};

/** Nothing at all is told as such by the functions that escape. */
function present(args: readonly Value[]): Value[] {
  return args.map((value) => value ?? '<no value>');
}

const HTML_ENTITIES: Record<string, string> = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  "'": '&#39;',
  '"': '&#34;',
  '\0': '\xef\xbf\xbd',
};

function escapeJs(bytes: string): string {
  const hex = (code: number) => `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return [...fromBytes(bytes)]
    .map((rune) => {
      const code = rune.codePointAt(0) ?? 0;
      if ('\\\'"'.includes(rune)) return `\\${rune}`;
      if (code < 0x20 || '<>&='.includes(rune)) return hex(code);
      return code < 0x80 || isPrintable(rune) ? toBytes(rune) : hex(code);
    })
    .join('');
}

/** url.QueryEscape. */
function escapeQuery(bytes: string): string {
  return bytes.replace(/[^A-Za-z0-9\-_.~]/g, (byte) =>
    byte === ' ' ? '+' : `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

type Kind = 'bool' | 'int' | 'uint' | 'float' | 'string' | 'other';

function basicKind(value: Value): Kind {
  if (value instanceof Int) return value.type.startsWith('u') ? 'uint' : 'int';
  if (typeof value === 'number') return 'float';
  if (typeof value === 'string') return 'string';
  return typeof value === 'boolean' ? 'bool' : 'other';
}

function areEqual(a: Value, b: Value): boolean {
  if (a instanceof Int && b instanceof Int) return a.value === b.value;
  if (basicKind(a) !== basicKind(b)) {
    if (a !== null && b !== null) throw incompatible(a, b);
    return false;
  }
  if (basicKind(a) !== 'other') return a === b;
  if (a === null || b === null) return isNil(a) === isNil(b);
  if (kindOfComposite(a) !== kindOfComposite(b))
    fail(`non-comparable types ${sprint([a])}: ${typeName(a)}, ${typeName(b)}: ${sprint([b])}`);
  if (isNil(a) || isNil(b)) return isNil(a) === isNil(b);
  if (b instanceof List || b instanceof GoMap) fail(`non-comparable type ${sprint([b])}: ${typeName(b)}`);
  return a === b;
}

function isNil(value: Value): boolean {
  return value === null || value instanceof NilPointer || (value instanceof List && value.isNil);
}

function kindOfComposite(value: Value): string {
  if (value instanceof Struct && !value.isPointer) return value.name;
  return value instanceof List ? 'list' : value instanceof GoMap ? 'map' : 'pointer';
}

function isLess(a: Value, b: Value): boolean {
  for (const value of [a, b]) if (basicKind(value) === 'other') fail('invalid type for comparison');
  if (a instanceof Int && b instanceof Int) return a.value < b.value;
  if (basicKind(a) !== basicKind(b)) throw incompatible(a, b);
  if (typeof a === 'boolean') fail('invalid type for comparison');
  if (typeof a === 'number' && typeof b === 'number') return a < b;
  return text(a) < text(b);
}

function incompatible(a: Value, b: Value): Error {
  return new CallError(`incompatible types for comparison: ${typeName(a)} and ${typeName(b)}`);
}

function lengthOf(value: Value): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof List) return value.items.length;
  if (value instanceof GoMap) return value.entries.size;
  if (value === null || value instanceof NilPointer) fail('len of nil pointer');
  return fail(`len of type ${typeName(value)}`);
}

/** A missing key of a map is the zero value, a list position outside is an error: `index` differs from `.field` here. */
function indexOnce(item: Value, key: Value): Value {
  if (item instanceof NilPointer) return fail('index of nil pointer');
  if (item instanceof List) {
    const at = position(key, item.items.length);
    return at < item.items.length ? (item.items[at] ?? null) : fail('reflect: slice index out of range');
  }
  if (typeof item === 'string') {
    const at = position(key, item.length);
    return at < item.length
      ? new Int(item.charCodeAt(at), 'uint8')
      : fail('reflect: string index out of range');
  }
  if (item instanceof GoMap) {
    if (key === null) return fail('value is nil; should be of type string');
    if (typeof key !== 'string') return fail(`value has type ${typeName(key)}; should be string`);
    return item.entries.get(key) ?? (item.element === 'string' && !item.entries.has(key) ? '' : null);
  }
  return fail(`can't index item of type ${item === null ? 'interface {}' : typeName(item)}`);
}

function position(key: Value, length: number): number {
  if (key === null) return fail('cannot index slice/array with nil');
  if (!(key instanceof Int)) return fail(`cannot index slice/array with type ${typeName(key)}`);
  if (key.value < 0n || key.value > BigInt(length)) return fail(`index out of range: ${key.value}`);
  return Number(key.value);
}

function sliceOf(item: Value, positions: readonly Value[]): Value {
  if (item === null) return fail('slice of untyped nil');
  if (item instanceof NilPointer) return fail('slice of nil pointer');
  if (positions.length > 3) return fail(`too many slice indexes: ${positions.length}`);
  if (typeof item !== 'string' && !(item instanceof List))
    return fail(`can't slice item of type ${typeName(item)}`);
  if (typeof item === 'string' && positions.length === 3) return fail('cannot 3-index slice a string');
  const length = typeof item === 'string' ? item.length : item.items.length;
  const [start = 0, end = length, cap = length] = positions.map((each) => position(each, length));
  if (start > end) return fail(`invalid slice index: ${start} > ${end}`);
  if (end > cap) return fail(`invalid slice index: ${end} > ${cap}`);
  return typeof item === 'string'
    ? item.slice(start, end)
    : new List(item.items.slice(start, end), item.element);
}
