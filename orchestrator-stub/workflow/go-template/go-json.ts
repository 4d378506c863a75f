import { fromBytes, toBytes } from '../../../formats/go-text.ts';
import { fail } from './errors.ts';
import { marshaled } from './go-yaml-text.ts';
import { bytesOf } from './print.ts';
import { BoolPointer, GoMap, Int, List, NilPointer, Struct, type Value } from './values.ts';

/** encoding/json: sorted keys, and what could end a script element escaped. */
export function jsonText(value: Value, { isPretty = false, escapesHtml = true } = {}): string {
  const text = JSON.stringify(plain(value), null, isPretty ? 2 : undefined).replaceAll(
    /"\\u0000(-?\d+)"/g,
    '$1',
  );
  const pattern = escapesHtml ? /[<>&\u2028\u2029]/g : /[\u2028\u2029]/g;
  return toBytes(text.replace(pattern, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`));
}

/** Whole numbers are marked texts: JSON.stringify would round them. */
function plain(value: Value): unknown {
  if (value === null || value instanceof NilPointer || (value instanceof List && value.isNil)) return null;
  if (typeof value === 'string') return fromBytes(value);
  if (value instanceof Int) return `\0${value.value}`;
  if (typeof value === 'number') {
    if (!Number.isFinite(value))
      fail(`json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`);
    return value;
  }
  if (typeof value === 'boolean') return value;
  if (value instanceof BoolPointer) return value.value;
  if (value instanceof List)
    return value.element === 'uint8'
      ? Buffer.from(bytesOf(value), 'latin1').toString('base64')
      : value.items.map(plain);
  if (value instanceof Struct) {
    const inner = marshaled(value);
    return inner instanceof GoMap ? plainEntries([...inner.entries]) : plain(inner);
  }
  return plainEntries(value.sorted());
}

function plainEntries(entries: readonly (readonly [string, Value])[]): unknown {
  return Object.fromEntries(entries.map(([key, each]) => [fromBytes(key), plain(each)]));
}

/** Undefined for what is no JSON. */
export function fromJson(text: string): Value | undefined {
  try {
    return fromPlain(JSON.parse(fromBytes(text)) as unknown);
  } catch {
    return undefined;
  }
}

/** What Go reads from JSON: every number is a float64. */
export function fromPlain(value: unknown): Value {
  if (typeof value === 'string') return toBytes(value);
  if (typeof value === 'boolean' || typeof value === 'number') return value;
  if (Array.isArray(value)) return new List(value.map(fromPlain));
  if (typeof value !== 'object' || value === null) return null;
  return new GoMap(Object.entries(value).map(([key, each]) => [toBytes(key), fromPlain(each)]));
}
