import { fail } from './errors.ts';
import { GoMap, Int, type Value } from './values.ts';

/** The types that parameters of template functions have. `any` is an interface{}, `value` one that may be nothing at all. */
export type Parameter =
  | 'string'
  | 'int'
  | 'uint32'
  | 'float64'
  | 'bool'
  | 'any'
  | 'value'
  | '[]interface {}'
  | 'map[string]interface {}'
  | 'sprig.certificate'
  | '*semver.Version'
  | 'time.Time';

/** A function as Go's text/template knows it: it checks the arguments against the types before the call. */
export interface TemplateFunction {
  parameters: readonly Parameter[];
  /** The type of what follows, in a variadic function. */
  rest: Parameter | undefined;
  call: (...args: Value[]) => Value;
}

const SHORT: Record<string, Parameter> = {
  map: 'map[string]interface {}',
  list: '[]interface {}',
  cert: 'sprig.certificate',
  time: 'time.Time',
};

/** `takes('int string', …)`, `takes('any ...any', …)`. */
export function takes(types: string, call: (...args: Value[]) => Value): TemplateFunction {
  const parameters: Parameter[] = [];
  let rest: Parameter | undefined;
  for (const word of types.split(' ').filter(Boolean)) {
    const name = word.replace('...', '');
    const type = SHORT[name] ?? (name as Parameter);
    if (word.startsWith('...')) rest = type;
    else parameters.push(type);
  }
  return { parameters, rest, call };
}

/** For functions of texts alone. */
export function takesTexts(call: (...texts: string[]) => Value): TemplateFunction {
  return takes(Array.from({ length: call.length }, () => 'string').join(' '), (...args) =>
    call(...args.map(text)),
  );
}

// The types were checked before the call: what is not as declared here is a defect of the declaration.

export function text(value: Value | undefined): string {
  return typeof value === 'string' ? value : fail('not a string');
}

export function integer(value: Value | undefined): number {
  return value instanceof Int ? Number(value.value) : fail('not an int');
}

export function map(value: Value | undefined): GoMap {
  return value instanceof GoMap ? value : fail('not a map');
}
