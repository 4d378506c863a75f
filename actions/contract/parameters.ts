import { KindlingError } from '../../protocol/error.ts';
import { closestName } from '../../system/closest-name.ts';

interface ParameterBase {
  description: string;
  /** Fails before anything is touched when it is missing or empty. */
  required?: boolean;
  /** Never shown in logs, plans, errors or help output of values. */
  secret?: boolean;
}

/** One variable of an action's environment contract. */
export type Parameter = ParameterBase &
  (
    | { type: 'text'; default?: string; pattern?: RegExp }
    /** Go's ParseBool, which every reference action uses: 1 t T TRUE true True 0 f F FALSE false False. */
    | { type: 'boolean'; default?: boolean }
    /** Set by any non-empty value, as CHROOT and MBR are in the reference actions. */
    | { type: 'flag' }
    | { type: 'integer'; default?: number; min?: number; max?: number }
    | { type: 'octal'; default?: number }
    | { type: 'url'; default?: string }
    | { type: 'absolute-path'; default?: string }
    | { type: 'choice'; choices: readonly string[]; default?: string }
  );

export type Parameters = Record<string, Parameter>;

type ValueOf<P extends Parameter> = P extends { type: 'boolean' | 'flag' }
  ? boolean
  : P extends { type: 'integer' | 'octal' }
    ? number
    : P extends { type: 'choice'; choices: readonly (infer C)[] }
      ? C
      : string;

type IsAlwaysSet<P extends Parameter> = P extends { required: true }
  ? true
  : P extends { type: 'flag' }
    ? true
    : P extends { default: string | number | boolean }
      ? true
      : false;

/** The parsed variables of an action: required ones and ones with a default are always there. */
export type Values<P extends Parameters> = {
  [K in keyof P]: IsAlwaysSet<P[K]> extends true ? ValueOf<P[K]> : ValueOf<P[K]> | undefined;
};

interface ParsedVariables {
  values: Record<string, string | number | boolean | undefined>;
  /** Names the action does not know, with the name that was probably meant. */
  unknown: { name: string; suggestion?: string }[];
}

/**
 * Turns the strings of an environment into typed values; every wrong one is listed in one error, before anything is touched.
 * An empty string counts as "not set": the reference templates set variables they do not use to "".
 */
export function parseVariables(
  action: string,
  parameters: Parameters,
  variables: Record<string, string>,
): ParsedVariables {
  const values: ParsedVariables['values'] = {};
  const problems: string[] = [];
  for (const [name, parameter] of Object.entries(parameters)) {
    const raw = variables[name];
    if (raw === undefined || raw === '') {
      if (
        parameter.required &&
        !(raw === '' && parameter.type === 'text' && parameter.pattern === undefined)
      ) {
        problems.push(`${name} is required (${parameter.description})`);
      }
      values[name] = raw === '' && parameter.required ? '' : defaultOf(parameter);
      continue;
    }
    const parsed = parseValue(parameter, raw);
    if ('problem' in parsed) {
      const shown = parameter.secret ? '(secret)' : JSON.stringify(withoutLogin(raw).slice(0, 80));
      problems.push(`${name}=${shown} ${parsed.problem}`);
    } else values[name] = parsed.value;
  }
  const known = Object.keys(parameters);
  const unknown = Object.keys(variables)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const suggestion = closestName(name, known);
      return suggestion === undefined ? { name } : { name, suggestion };
    });
  if (problems.length > 0) {
    for (const { name, suggestion } of unknown) {
      if (suggestion) problems.push(`${name} is not known; did you mean ${suggestion}?`);
    }
    throw new KindlingError('KND_ACTION_VARIABLES', `${action}: ${problems.join('; ')}`, {
      evidence: { action, problems },
    });
  }
  return { values, unknown };
}

/** What does not parse as an address may still hold a user and a password. */
const withoutLogin = (text: string) => text.replaceAll(/\/\/[^/\s]*@/g, '//…@');

function defaultOf(parameter: Parameter): string | number | boolean | undefined {
  if (parameter.type === 'flag') return false;
  return parameter.default;
}

function parseValue(
  parameter: Parameter,
  raw: string,
): { value: string | number | boolean } | { problem: string } {
  switch (parameter.type) {
    case 'text':
      if (parameter.pattern && !parameter.pattern.test(raw)) {
        return { problem: `does not look like ${parameter.pattern.source}` };
      }
      return { value: raw };
    case 'flag':
      return { value: true };
    case 'boolean':
      if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(raw)) return { value: true };
      if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(raw)) return { value: false };
      return { problem: 'is neither true nor false' };
    case 'integer':
      return parseInteger(raw, parameter.min, parameter.max);
    case 'octal':
      if (!/^(0o?)?[0-7]{1,4}$/.test(raw)) return { problem: 'is not an octal mode such as 0644' };
      return { value: Number.parseInt(raw.replace('o', ''), 8) };
    case 'url':
      if (!/^https?:\/\//i.test(raw) || !URL.canParse(raw)) return { problem: 'is not an http or https URL' };
      return { value: raw };
    case 'absolute-path':
      if (!raw.startsWith('/') || raw.includes('\0')) return { problem: 'is not an absolute path' };
      return { value: raw };
    case 'choice':
      if (!parameter.choices.includes(raw))
        return { problem: `is not one of ${parameter.choices.join(', ')}` };
      return { value: raw };
  }
}

function parseInteger(raw: string, min = 0, max = Number.MAX_SAFE_INTEGER) {
  const value = Number(raw.trim());
  if (!/^\s*-?\d+\s*$/.test(raw) || !Number.isSafeInteger(value)) return { problem: 'is not a whole number' };
  if (value < min || value > max) return { problem: `is not between ${min} and ${max}` };
  return { value };
}
