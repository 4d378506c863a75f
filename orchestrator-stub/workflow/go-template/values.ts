/** What templates compute with. Go's maps, slices and scalars as plain JavaScript; nil is null. */
export type Value =
  | string
  | number
  | boolean
  | null
  | undefined
  | Value[]
  | { [key: string]: Value }
  | FunctionValue;

type FunctionValue = (...args: Value[]) => Value;

export function isMap(value: Value): value is { [key: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Own keys only: a template must not reach `constructor` or `__proto__`. */
export function hasKey(map: { [key: string]: Value }, key: string): boolean {
  return Object.hasOwn(map, key);
}

/** Go ranges over maps and prints them in the order of their keys, compared byte by byte. */
export function sortedKeys(map: object): string[] {
  return Object.keys(map).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Go's truth: false, 0, "", nil and what is empty are false. */
export function isTrue(value: Value): boolean {
  if (value === null || value === undefined) return false;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  if (typeof value === 'string' || Array.isArray(value)) return value.length > 0;
  if (isMap(value)) return Object.keys(value).length > 0;
  return true;
}

/** The Go type a value would have, for messages. */
export function typeName(value: Value): string {
  if (value === null || value === undefined) return 'nil';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float64';
  if (Array.isArray(value)) return '[]interface {}';
  return typeof value === 'function' ? 'func' : 'map[string]interface {}';
}

/** As Go's `%v` prints it. A missing value at the top of an action is `<no value>`, inside a composite `<nil>`. */
export function printValue(value: Value): string {
  if (value === null || value === undefined) return '<nil>';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return printNumber(value);
  if (typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[${value.map(printValue).join(' ')}]`;
  if (isMap(value)) {
    return `map[${sortedKeys(value)
      .map((key) => `${key}:${printValue(value[key])}`)
      .join(' ')}]`;
  }
  return '<func>';
}

function printNumber(value: number): string {
  if (Number.isInteger(value)) return String(value);
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  if (exponent < -4 || exponent >= 21) {
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  }
  return String(value);
}

/** Go's `eq`: basic kinds only; values of different kinds are an error, not unequal. */
export function areEqual(a: Value, b: Value): boolean {
  const missing = (value: Value) => value === null || value === undefined;
  if (missing(a) || missing(b)) return missing(a) && missing(b);
  if (typeof a === 'object' || typeof b === 'object') {
    if (typeof a === typeof b && Array.isArray(a) === Array.isArray(b))
      throw new Error('non-comparable type');
  }
  if (typeof a !== typeof b) throw incompatible(a, b);
  return a === b;
}

/** -1, 0 or 1; strings are compared byte by byte. */
export function compare(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return Math.sign(a - b);
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (typeof a !== typeof b) throw incompatible(a, b);
  throw new Error('invalid type for comparison');
}

function incompatible(a: Value, b: Value): Error {
  return new Error(`incompatible types for comparison: ${typeName(a)} and ${typeName(b)}`);
}

/** A list from whatever can be one. */
export function toList(value: Value): Value[] {
  if (Array.isArray(value)) return value;
  if (value === null || value === undefined) return [];
  throw new Error(`expected a list, got ${typeName(value)}`);
}

export function toText(value: Value): string {
  return value === null || value === undefined ? '' : printValue(value);
}

/** sprig's lenient conversion: text that is no number is 0. */
export function toInteger(value: Value): number {
  if (typeof value === 'number') return Math.trunc(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  const number = Number(toText(value).trim());
  return Number.isFinite(number) ? Math.trunc(number) : 0;
}
