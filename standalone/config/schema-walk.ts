import { z } from 'zod';
import type { Path } from './issue.ts';

/** The schema without its «optional» wrapping. */
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
