import { toBytes } from '../../../formats/go-text.ts';
import type { TemplateFunction } from './signature.ts';

/**
 * What templates compute with, with the types that Go would have: `eq 1 1.0` is an error there, and nothing above 2^53 may be
 * rounded. A text is bytes, one per character (latin1), as in Go: `len`, `substr` and `b64dec` count bytes. A float64 is a
 * JavaScript number, nil is null.
 */
export type Value = string | boolean | number | null | Int | List | GoMap | Struct | NilPointer | BoolPointer;

export type IntType = 'int' | 'int64' | 'int32' | 'uint8' | 'uint32' | 'uint64';

const BITS: Record<IntType, number> = { int: 64, int64: 64, int32: 32, uint8: 8, uint32: 32, uint64: 64 };

/** A whole number; it overflows as Go's does. */
export class Int {
  readonly value: bigint;
  readonly type: IntType;
  /** A type of its own that prints as a word: time.Month. */
  readonly named: { type: string; text: string } | undefined;

  constructor(value: bigint | number, type: IntType = 'int', named?: { type: string; text: string }) {
    const wide = BigInt(value);
    const wrap = type.startsWith('u') ? BigInt.asUintN : BigInt.asIntN;
    this.value = wrap(BITS[type], wide);
    this.type = type;
    this.named = named;
  }
}

/** A slice. */
export class List {
  readonly items: Value[];
  /** Of its elements: "interface {}", "string", "int", "uint8". */
  readonly element: string;

  /** A slice that was never made: JSON has null for it. */
  readonly isNil: boolean;

  constructor(items: Value[], element = 'interface {}', isNil = false) {
    this.items = items;
    this.element = element;
    this.isNil = isNil;
  }
}

/** A map with texts as keys. */
export class GoMap {
  readonly entries: Map<string, Value>;
  /** Of its values: "interface {}" or "string". */
  readonly element: string;

  constructor(entries: Iterable<readonly [string, Value]> = [], element = 'interface {}') {
    this.entries = new Map(entries);
    this.element = element;
  }

  /** Go ranges over maps and prints them in the order of their keys, compared byte by byte. */
  sorted(): [string, Value][] {
    return [...this.entries].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

/** A struct, or a pointer to one. */
export class Struct {
  readonly name: string;
  readonly fields: Map<string, Value>;
  readonly isPointer: boolean;
  /** What `String()` gives, where the type has it. */
  readonly text: string | undefined;
  /** The names of its fields in JSON and YAML. */
  readonly json: ReadonlyMap<string, string>;
  readonly methods: Readonly<Record<string, TemplateFunction>>;

  constructor(
    name: string,
    fields: Iterable<readonly [string, Value]>,
    {
      isPointer = false,
      text,
      json = new Map(),
      methods = {},
    }: {
      isPointer?: boolean;
      text?: string;
      json?: ReadonlyMap<string, string>;
      methods?: Readonly<Record<string, TemplateFunction>>;
    } = {},
  ) {
    this.name = name;
    this.fields = new Map(fields);
    this.isPointer = isPointer;
    this.text = text;
    this.json = json;
    this.methods = methods;
  }
}

export class NilPointer {
  readonly to: string;

  constructor(to: string) {
    this.to = to;
  }
}

/** A *bool that points somewhere: true for `if` even where it points to false. */
export class BoolPointer {
  readonly value: boolean;

  constructor(value: boolean) {
    this.value = value;
  }
}

/** What callers give: JSON, with structs of Go in it where a type matters. Numbers become float64, as Go reads JSON. */
export type TemplateData =
  | Value
  | undefined
  | readonly TemplateData[]
  | { readonly [key: string]: TemplateData };

export function toValue(data: TemplateData): Value {
  if (data === undefined || data === null) return null;
  if (typeof data === 'string') return toBytes(data);
  if (typeof data !== 'object') return data;
  if (isGoValue(data)) return data;
  if (isArray(data)) return new List(data.map(toValue));
  return new GoMap(Object.entries(data).map(([key, value]) => [toBytes(key), toValue(value)]));
}

function isGoValue(data: object): data is Exclude<Value, string | number | boolean | null> {
  return [Int, List, GoMap, Struct, NilPointer, BoolPointer].some((type) => data instanceof type);
}

function isArray(data: object): data is readonly TemplateData[] {
  return Array.isArray(data);
}

/** The Go type of a value, as `%T` prints it. */
export function typeName(value: Value): string {
  if (value === null) return '<nil>';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return 'float64';
  if (value instanceof Int) return value.named?.type ?? value.type;
  if (value instanceof List) return `[]${value.element}`;
  if (value instanceof GoMap) return `map[string]${value.element}`;
  if (value instanceof NilPointer) return `*${value.to}`;
  if (value instanceof BoolPointer) return '*bool';
  return (value.isPointer ? '*' : '') + value.name;
}

export function kindName(value: Value): string {
  if (value === null) return 'invalid';
  if (value instanceof List) return 'slice';
  if (value instanceof GoMap) return 'map';
  if (value instanceof NilPointer || value instanceof BoolPointer) return 'ptr';
  if (value instanceof Int) return value.type;
  if (value instanceof Struct) return value.isPointer ? 'ptr' : 'struct';
  return typeName(value);
}

/** Go's truth: false, 0, "", nil and what is empty are false. */
export function isTrue(value: Value): boolean {
  if (value === null || value instanceof NilPointer) return false;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  if (value instanceof Int) return value.value !== 0n;
  if (typeof value === 'string') return value.length > 0;
  if (value instanceof List) return value.items.length > 0;
  if (value instanceof GoMap) return value.entries.size > 0;
  return true;
}

/** reflect.DeepEqual. */
export function areDeepEqual(a: Value, b: Value): boolean {
  if (typeName(a) !== typeName(b)) return false;
  if (a instanceof Int && b instanceof Int) return a.value === b.value;
  if (a instanceof List && b instanceof List)
    return (
      a.items.length === b.items.length &&
      a.items.every((item, at) => areDeepEqual(item, b.items[at] ?? null))
    );
  if (a instanceof GoMap && b instanceof GoMap) return haveEqualEntries(a.entries, b.entries);
  if (a instanceof Struct && b instanceof Struct) return haveEqualEntries(a.fields, b.fields);
  return a === b || (a instanceof NilPointer && b instanceof NilPointer);
}

function haveEqualEntries(a: Map<string, Value>, b: Map<string, Value>): boolean {
  return (
    a.size === b.size && [...a].every(([key, value]) => b.has(key) && areDeepEqual(value, b.get(key) ?? null))
  );
}
