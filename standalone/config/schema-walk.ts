import { z } from 'zod';
import type { Path } from './issue.ts';

/** The schema without its "optional" wrapping. */
function bare(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? bare(schema.unwrap()) : schema;
}

/** Keys that a map of this schema may have; empty where the schema is no map or takes any key. */
export function keysOf(schema: unknown): string[] {
  const inner = bare(schema);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

/** The schema one step further down, if there is one. */
export function childSchema(schema: unknown, segment: string | number): unknown {
  const inner = bare(schema);
  if (inner instanceof z.ZodArray && typeof segment === 'number') return inner.element;
  if (inner instanceof z.ZodObject) return (inner.shape as Record<string, unknown>)[String(segment)];
  if (inner instanceof z.ZodUnion) {
    return inner.options.map((option) => childSchema(option, segment)).find((child) => child !== undefined);
  }
  return undefined;
}

export function schemaAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((schema, segment) => childSchema(schema, segment), root);
}

/** Every map of the schema with its keys, from the top down; the index of a list item is 0. Entries of `nodes` repeat the file and are left out. */
export function sectionsOf(root: unknown, path: Path = []): { path: Path; keys: string[] }[] {
  const inner = bare(root);
  if (inner instanceof z.ZodArray) return sectionsOf(inner.element, [...path, 0]);
  if (inner instanceof z.ZodUnion) return inner.options.flatMap((option) => sectionsOf(option, path));
  const keys = keysOf(inner);
  const below = keys
    .filter((key) => path.length > 0 || key !== 'nodes')
    .flatMap((key) => sectionsOf(childSchema(inner, key), [...path, key]));
  return keys.length === 0 ? [] : [{ path, keys }, ...below];
}
