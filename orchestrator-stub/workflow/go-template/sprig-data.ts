import { fail } from './errors.ts';
import { strval } from './print.ts';
import { integer, map, type TemplateFunction, takes, text } from './signature.ts';
import { toInt64 } from './sprig-numbers.ts';
import { areDeepEqual, GoMap, isTrue, kindName, List, typeName, type Value } from './values.ts';

/** Empty as sprig sees it: a struct never is. */
const isEmpty = (value: Value) => !isTrue(value);

/** The functions of lists come twice: one panics, one gives an error. A template sees no difference. */
function withMust(names: readonly string[], made: TemplateFunction): [string, TemplateFunction][] {
  return names.flatMap((name): [string, TemplateFunction][] => [
    [name, made],
    [`must${name.charAt(0).toUpperCase()}${name.slice(1)}`, made],
  ]);
}

function items(value: Value | undefined, complaint: string): Value[] {
  if (value instanceof List) return value.items;
  if (value === null || value === undefined)
    return fail('runtime error: invalid memory address or nil pointer dereference');
  return fail(`${complaint} ${kindName(value)}`);
}

const LIST_FUNCTIONS: Record<string, TemplateFunction> = Object.fromEntries([
  ...withMust(
    ['append', 'push'],
    takes('any any', (all, value = null) => new List([...items(all, 'Cannot push on type'), value])),
  ),
  ...withMust(
    ['prepend'],
    takes('any any', (all, value = null) => new List([value, ...items(all, 'Cannot prepend on type')])),
  ),
  ...withMust(
    ['first'],
    takes('any', (all) => items(all, 'Cannot find first on type')[0] ?? null),
  ),
  ...withMust(
    ['last'],
    takes('any', (all) => items(all, 'Cannot find last on type').at(-1) ?? null),
  ),
  ...withMust(
    ['rest'],
    takes('any', (all) => new List(items(all, 'Cannot find rest on type').slice(1))),
  ),
  ...withMust(
    ['initial'],
    takes('any', (all) => new List(items(all, 'Cannot find initial on type').slice(0, -1))),
  ),
  ...withMust(
    ['reverse'],
    takes('any', (all) => new List(items(all, 'Cannot find reverse on type').toReversed())),
  ),
  ...withMust(
    ['compact'],
    takes('any', (all) => new List(items(all, 'Cannot compact on type').filter(isTrue))),
  ),
  ...withMust(
    ['uniq'],
    takes('any', (all) => new List(unique(items(all, 'Cannot find uniq on type')))),
  ),
  ...withMust(
    ['without'],
    takes(
      'any ...any',
      (all, ...omitted) =>
        new List(items(all, 'Cannot find without on type').filter((value) => !includes(omitted, value))),
    ),
  ),
  ...withMust(
    ['has'],
    takes(
      'any any',
      (value = null, all = null) => all !== null && includes(items(all, 'Cannot find has on type'), value),
    ),
  ),
  ...withMust(
    ['slice'],
    takes('any ...any', (all, ...bounds) => slice(all ?? null, bounds)),
  ),
  ...withMust(
    ['chunk'],
    takes('int any', (size, all) => chunk(integer(size), items(all, 'Cannot chunk type'))),
  ),
]);

function includes(all: readonly Value[], value: Value): boolean {
  return all.some((other) => areDeepEqual(other, value));
}

function unique(all: readonly Value[]): Value[] {
  return all.filter((value, at) => !includes(all.slice(0, at), value));
}

function slice(all: Value, bounds: readonly Value[]): Value {
  const from = items(all, 'list should be type of slice or array but');
  if (from.length === 0) return null;
  const [start, end] = [bounds[0], bounds[1]].map((each) =>
    each === undefined ? undefined : Number(toInt64(each)),
  );
  const [first, last] = [start ?? 0, end ?? from.length];
  if (first < 0 || last < first || last > from.length) fail('reflect.Value.Slice: slice index out of bounds');
  return new List(from.slice(first, last), all instanceof List ? all.element : undefined);
}

function chunk(size: number, all: readonly Value[]): List {
  if (size <= 0) fail('runtime error: makeslice: len out of range');
  const chunks: Value[] = [];
  for (let at = 0; at < all.length; at += size) chunks.push(new List(all.slice(at, at + size)));
  return new List(chunks, '[]interface {}');
}

/** mergo.Merge: what is empty in the first is taken from the second, mappings in mappings too. */
function merge(into: GoMap, from: GoMap, overwrites: boolean): void {
  for (const [key, value] of from.entries) {
    const old = into.entries.get(key) ?? null;
    if (old instanceof GoMap && value instanceof GoMap) merge(old, value, overwrites);
    else if (overwrites ? !isEmpty(value) || !into.entries.has(key) : isEmpty(old))
      into.entries.set(key, value);
  }
}

function mergeAll(overwrites: boolean): TemplateFunction {
  return takes('map ...map', (into, ...others) => {
    for (const other of others) merge(map(into), map(other), overwrites);
    return map(into);
  });
}

function copyOf(value: Value): Value {
  return value === null ? fail('reflect: call of reflect.Value.Type on zero Value') : deepCopy(value);
}

function deepCopy(value: Value): Value {
  if (value instanceof List) return new List(value.items.map(deepCopy), value.element);
  if (value instanceof GoMap)
    return new GoMap(
      [...value.entries].map(([key, each]) => [key, deepCopy(each)]),
      value.element,
    );
  return value;
}

function dictOf(args: readonly Value[]): GoMap {
  const made = new GoMap();
  for (let at = 0; at < args.length; at += 2)
    made.entries.set(strval(args[at] ?? null), at + 1 < args.length ? (args[at + 1] ?? null) : '');
  return made;
}

function dig(args: readonly Value[]): Value {
  if (args.length < 3) fail('dig needs at least three arguments');
  const fallback = args.at(-2) ?? null;
  let value: Value = args.at(-1) ?? null;
  for (const key of args.slice(0, -2)) {
    if (!(value instanceof GoMap) || value.element !== 'interface {}')
      return fail(
        `interface conversion: interface {} is ${value === null ? 'nil' : typeName(value)}, not map[string]interface {}`,
      );
    if (typeof key !== 'string')
      return fail(`interface conversion: interface {} is ${typeName(key)}, not string`);
    if (!value.entries.has(key)) return fallback;
    value = value.entries.get(key) ?? null;
  }
  return value;
}

const list = takes('...any', (...args) => new List(args));
const picked = (all: GoMap, isWanted: (key: string) => boolean) =>
  new GoMap([...all.entries].filter(([key]) => isWanted(key)));

export const DATA_FUNCTIONS: Record<string, TemplateFunction> = {
  ...LIST_FUNCTIONS,
  list,
  tuple: list,
  concat: takes('...any', (...lists) => {
    const items = lists.flatMap((each) => concatenated(each));
    return new List(items, 'interface {}', items.length === 0);
  }),

  dict: takes('...any', (...args) => dictOf(args)),
  get: takes('map string', (all, key) =>
    map(all).entries.has(text(key)) ? (map(all).entries.get(text(key)) ?? null) : '',
  ),
  set: takes('map string any', (all, key, value = null) => {
    map(all).entries.set(text(key), value);
    return map(all);
  }),
  unset: takes('map string', (all, key) => {
    map(all).entries.delete(text(key));
    return map(all);
  }),
  hasKey: takes('map string', (all, key) => map(all).entries.has(text(key))),
  pluck: takes(
    'string ...map',
    (key, ...all) =>
      new List(
        all
          .map(map)
          .flatMap(({ entries }) => (entries.has(text(key)) ? [entries.get(text(key)) ?? null] : [])),
      ),
  ),
  // Go gives keys and values in any order; ours is always the same.
  keys: takes(
    '...map',
    (...all) =>
      new List(
        all.flatMap((each) =>
          map(each)
            .sorted()
            .map(([key]) => key),
        ),
        'string',
      ),
  ),
  values: takes(
    'map',
    (all) =>
      new List(
        map(all)
          .sorted()
          .map(([, value]) => value),
      ),
  ),
  pick: takes('map ...string', (all, ...keys) => picked(map(all), (key) => keys.includes(key))),
  omit: takes('map ...string', (all, ...keys) => picked(map(all), (key) => !keys.includes(key))),
  merge: mergeAll(false),
  mustMerge: mergeAll(false),
  mergeOverwrite: mergeAll(true),
  mustMergeOverwrite: mergeAll(true),
  deepCopy: takes('any', (value = null) => copyOf(value)),
  mustDeepCopy: takes('any', (value = null) => copyOf(value)),
  dig: takes('...any', (...args) => dig(args)),

  default: takes('any ...any', (fallback = null, given = null) => (isEmpty(given) ? fallback : given)),
  empty: takes('any', (value = null) => isEmpty(value)),
  coalesce: takes('...any', (...args) => args.find((value) => !isEmpty(value)) ?? null),
  all: takes('...any', (...args) => !args.some(isEmpty)),
  any: takes('...any', (...args) => args.some((value) => !isEmpty(value))),
  ternary: takes('any any bool', (yes = null, no = null, condition = null) =>
    condition === true ? yes : no,
  ),
  fail: takes('string', (message) => fail(text(message))),

  typeOf: takes('any', (value = null) => typeName(value)),
  typeIs: takes('string any', (name, value = null) => name === typeName(value)),
  typeIsLike: takes('string any', (name, value = null) => [name, `*${text(name)}`].includes(typeName(value))),
  kindOf: takes('any', (value = null) => kindName(value)),
  kindIs: takes('string any', (name, value = null) => name === kindName(value)),
  deepEqual: takes('any any', (a = null, b = null) => areDeepEqual(a, b)),
};

function concatenated(value: Value): Value[] {
  if (value instanceof List) return value.items;
  if (value === null) return fail('runtime error: invalid memory address or nil pointer dereference');
  return fail(`Cannot concat type ${kindName(value)} as list`);
}
