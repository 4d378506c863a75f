import { sprintf } from './printf.ts';
import {
  areEqual,
  compare,
  hasKey,
  isMap,
  isTrue,
  printValue,
  toText,
  typeName,
  type Value,
} from './values.ts';

export type TemplateFunction = (...args: Value[]) => Value;

/** The functions every Go template has. `and` and `or` are here for their names; the evaluator stops early for them. */
export const GO_FUNCTIONS: Record<string, TemplateFunction> = {
  and: (...args) => args.find((value) => !isTrue(value)) ?? args.at(-1),
  or: (...args) => args.find((value) => isTrue(value)) ?? args.at(-1),
  not: (value) => !isTrue(value),
  eq: (first, ...others) => {
    if (others.length === 0) throw new Error('missing argument for comparison');
    return others.some((other) => areEqual(first, other));
  },
  ne: (a, b) => !areEqual(a, b),
  lt: (a, b) => compare(a, b) < 0,
  le: (a, b) => compare(a, b) <= 0,
  gt: (a, b) => compare(a, b) > 0,
  ge: (a, b) => compare(a, b) >= 0,
  len: (value) => {
    if (typeof value === 'string') return Buffer.byteLength(value);
    if (Array.isArray(value)) return value.length;
    if (isMap(value)) return Object.keys(value).length;
    throw new Error(`len of type ${typeName(value)}`);
  },
  index: (container, ...keys) => keys.reduce(indexOnce, container),
  slice: (value, from, to) => {
    if (typeof value === 'string' || Array.isArray(value)) {
      const start = from === undefined ? 0 : position(from, value.length + 1);
      const end = to === undefined ? value.length : position(to, value.length + 1);
      if (start > end) throw new Error(`invalid slice index: ${start} > ${end}`);
      return value.slice(start, end);
    }
    throw new Error(`can't slice item of type ${typeName(value)}`);
  },
  print: (...args) => joinPrinted(args),
  println: (...args) => `${args.map(printValue).join(' ')}\n`,
  printf: (format, ...args) => sprintf(toText(format), args),
  html: (...args) =>
    joinPrinted(args).replace(/[<>&'"\0]/g, (character) => HTML_ENTITIES[character] ?? character),
  js: (...args) =>
    joinPrinted(args).replace(
      /[\\'"<>&=\n]/g,
      (character) =>
        JS_ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
    ),
  urlquery: (...args) => encodeURIComponent(joinPrinted(args)).replaceAll('%20', '+'),
};

const HTML_ENTITIES: Record<string, string> = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  "'": '&#39;',
  '"': '&#34;',
  '\0': '\uFFFD',
};

const JS_ESCAPES: Record<string, string> = { '\\': '\\\\', "'": "\\'", '"': '\\"' };

/** A missing key of a map is the zero value, a list position outside is an error: `index` differs from `.field` here. */
function indexOnce(container: Value, key: Value): Value {
  if (container === null || container === undefined) throw new Error('index of untyped nil');
  if (Array.isArray(container)) return container[position(key, container.length)];
  if (typeof container === 'string')
    return Buffer.from(container)[position(key, Buffer.byteLength(container))];
  if (isMap(container)) {
    if (typeof key !== 'string') throw new Error(`value has type ${typeName(key)}; should be string`);
    return hasKey(container, key) ? container[key] : null;
  }
  throw new Error(`can't index item of type ${typeName(container)}`);
}

function position(key: Value, length: number): number {
  if (typeof key !== 'number') throw new Error(`cannot index slice/array with type ${typeName(key)}`);
  if (!Number.isInteger(key) || key < 0 || key >= length) throw new Error(`index out of range: ${key}`);
  return key;
}

/** fmt.Sprint puts a space between two operands when neither is text. */
function joinPrinted(args: readonly Value[]): string {
  let text = '';
  for (const [index, value] of args.entries()) {
    if (index > 0 && typeof value !== 'string' && typeof args[index - 1] !== 'string') text += ' ';
    text += printValue(value);
  }
  return text;
}
