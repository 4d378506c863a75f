/** A JSON schema (draft 4) as far as cloud-init's uses the language. */
export interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string | readonly string[];
  enum?: readonly unknown[];
  properties?: Record<string, JsonSchema>;
  patternProperties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  required?: readonly string[];
  minProperties?: number;
  items?: JsonSchema | readonly JsonSchema[];
  additionalItems?: boolean | JsonSchema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minimum?: number;
  pattern?: string;
  allOf?: readonly JsonSchema[];
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
}

export interface SchemaProblem {
  path: readonly (string | number)[];
  message: string;
}

/** `strict`: as it is written. `lenient`: names it does not know are let through, for values that are meant for a newer version of it. */
export type Strictness = 'strict' | 'lenient';

/** What of a value does not follow the schema. Unknown keywords mean nothing, as the specification says. */
export function checkAgainstSchema(
  schema: JsonSchema,
  value: unknown,
  strictness: Strictness = 'strict',
): SchemaProblem[] {
  return check(schema, value, [], { schema, strictness });
}

type Path = SchemaProblem['path'];
interface Root {
  schema: JsonSchema;
  strictness: Strictness;
}

function check(schema: JsonSchema, value: unknown, path: Path, root: Root): SchemaProblem[] {
  if (schema.$ref !== undefined) return check(resolve(schema.$ref, root.schema), value, path, root);
  const problem = (message: string): SchemaProblem[] => [{ path, message }];
  if (schema.type !== undefined) {
    const types = [schema.type].flat();
    if (!types.some((type) => isOfType(value, type))) {
      return problem(`${kindOf(value)} is not of type ${types.join(' or ')}`);
    }
  }
  if (schema.enum && !schema.enum.some((allowed) => allowed === value)) {
    return problem(`${kindOf(value)} that is not one of ${schema.enum.map(show).join(', ')}`);
  }
  if (typeof value === 'number' && schema.minimum !== undefined && value < schema.minimum) {
    return problem(`a number that is less than ${schema.minimum}`);
  }
  if (typeof value === 'string' && schema.pattern !== undefined && !new RegExp(schema.pattern).test(value)) {
    return problem(`a text that does not look like ${schema.pattern}`);
  }
  return [
    ...(Array.isArray(value) ? checkList(schema, value, path, root) : []),
    ...(isMapping(value) ? checkMapping(schema, value, path, root) : []),
    ...checkCombinations(schema, value, path, root),
  ];
}

function checkList(schema: JsonSchema, list: readonly unknown[], path: Path, root: Root): SchemaProblem[] {
  const { items, additionalItems = true, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  if (list.length < minItems) return [{ path, message: `the list needs ${minItems} or more entries` }];
  if (list.length > maxItems) return [{ path, message: `the list may have ${maxItems} entries at most` }];
  if (schema.uniqueItems && new Set(list.map((item) => JSON.stringify(item))).size < list.length) {
    return [{ path, message: 'the list has the same entry twice' }];
  }
  return list.flatMap((item, index) => {
    const at = [...path, index];
    if (items === undefined) return [];
    if (!isSchemaList(items)) return check(items, item, at, root);
    const own = items[index];
    if (own) return check(own, item, at, root);
    if (additionalItems === false) return [{ path: at, message: 'is one entry too many' }];
    return additionalItems === true ? [] : check(additionalItems, item, at, root);
  });
}

function checkMapping(
  schema: JsonSchema,
  mapping: Record<string, unknown>,
  path: Path,
  root: Root,
): SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(mapping, name)) problems.push({ path, message: `"${name}" is missing` });
  }
  if (Object.keys(mapping).length < (schema.minProperties ?? 0)) problems.push({ path, message: 'is empty' });
  for (const [name, value] of Object.entries(mapping)) {
    const at = [...path, name];
    const own = schema.properties?.[name];
    const byPattern = Object.entries(schema.patternProperties ?? {}).filter(([pattern]) =>
      new RegExp(pattern).test(name),
    );
    for (const fitting of [...(own ? [own] : []), ...byPattern.map(([, each]) => each)]) {
      problems.push(...check(fitting, value, at, root));
    }
    if (own || byPattern.length > 0) continue;
    const { additionalProperties = true } = schema;
    if (additionalProperties === false) {
      if (root.strictness === 'strict') problems.push({ path: at, message: 'is not known here' });
    } else if (additionalProperties !== true) problems.push(...check(additionalProperties, value, at, root));
  }
  return problems;
}

function checkCombinations(schema: JsonSchema, value: unknown, path: Path, root: Root): SchemaProblem[] {
  const problems = (schema.allOf ?? []).flatMap((each) => check(each, value, path, root));
  for (const [choices, mostAllowed] of [
    [schema.anyOf, Number.POSITIVE_INFINITY],
    [schema.oneOf, root.strictness === 'strict' ? 1 : Number.POSITIVE_INFINITY],
  ] as const) {
    if (!choices) continue;
    const results = choices.map((each) => check(each, value, path, root));
    const fitting = results.filter((each) => each.length === 0).length;
    if (fitting > mostAllowed) problems.push({ path, message: `${kindOf(value)} fits more than one form` });
    if (fitting === 0) problems.push(...closest(results, path, value));
  }
  return problems;
}

/** Of the forms a value may have, the one it comes closest to: there the mistake is deepest. */
function closest(results: readonly SchemaProblem[][], path: Path, value: unknown): SchemaProblem[] {
  const depth = (problems: SchemaProblem[]) => Math.max(...problems.map((each) => each.path.length));
  const best = results.toSorted((a, b) => depth(b) - depth(a))[0];
  if (best && depth(best) > path.length) return best;
  return [{ path, message: `${kindOf(value)} has none of the forms that are allowed here` }];
}

function resolve(reference: string, root: JsonSchema): JsonSchema {
  return root.$defs?.[reference.replace('#/$defs/', '')] ?? {};
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isMapping(value);
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isSchemaList = (items: JsonSchema | readonly JsonSchema[]): items is readonly JsonSchema[] =>
  Array.isArray(items);

/** Never the value itself: user data holds passwords and keys, and what is said here ends up in logs. The place is said beside it. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}

const show = (value: unknown) => JSON.stringify(value)?.slice(0, 60) ?? String(value);
