import { RE2JS, RE2JSException } from 're2js';
import { fromBytes, toBytes } from '../../../formats/go-text.ts';
import { CallError, fail } from './errors.ts';

/** A compiled pattern of Go's regexp, over bytes. */
export interface Regex {
  /** Each with its groups; a group that took no part is undefined. */
  matches(all: string, count?: number): (string | undefined)[][];
  replace(
    all: string,
    change: (groups: readonly (string | undefined)[], names: ReadonlyMap<string, number>) => string,
  ): string;
  split(all: string, count: number): string[];
}

interface Match {
  start: number;
  end: number;
  groups: (string | undefined)[];
}

/** RE2 syntax and RE2's promise: no pattern takes more than linear time. */
export function regex(pattern: string): Regex {
  const compiled = compile(fromBytes(pattern));
  const names = new Map(Object.entries(compiled.namedGroups()));
  return {
    matches: (all, count = -1) =>
      find(compiled, fromBytes(all), count).map(({ groups }) =>
        groups.map((each) => (each === undefined ? undefined : toBytes(each))),
      ),
    replace: (all, change) => {
      const whole = fromBytes(all);
      let result = '';
      let at = 0;
      for (const { start, end, groups } of find(compiled, whole, -1)) {
        const bytes = groups.map((each) => (each === undefined ? undefined : toBytes(each)));
        result += toBytes(whole.slice(at, start)) + change(bytes, names);
        at = end;
      }
      return result + toBytes(whole.slice(at));
    },
    split: (all, count) => split(compiled, fromBytes(all), pattern, count).map(toBytes),
  };
}

export function isRegex(pattern: string): boolean {
  try {
    compile(fromBytes(pattern));
    return true;
  } catch (thrown) {
    if (thrown instanceof CallError) return false;
    throw thrown;
  }
}

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown;
    return fail(`error parsing regexp: ${thrown.message.replace(/^error parsing regexp: /, '')}`);
  }
}

/** As Go's FindAll: an empty match directly after a match does not count. */
function find(compiled: RE2JS, all: string, count: number): Match[] {
  const found: Match[] = [];
  const matcher = compiled.matcher(all);
  let at = 0;
  let lastEnd = -1;
  while (at <= all.length && (count < 0 || found.length < count) && matcher.find(at)) {
    const [start, end] = [matcher.start(), matcher.end()];
    if (end > start || start !== lastEnd) {
      const groups: (string | undefined)[] = [];
      for (let group = 0; group <= matcher.groupCount(); group++)
        groups.push(matcher.group(group) ?? undefined);
      found.push({ start, end, groups });
    }
    lastEnd = end;
    at = end > start ? end : end + ((all.codePointAt(end) ?? 0) > 0xffff ? 2 : 1);
  }
  return found;
}

function split(compiled: RE2JS, all: string, pattern: string, count: number): string[] {
  if (count === 0) return [];
  if (pattern !== '' && all === '') return [''];
  const parts: string[] = [];
  let [begin, end] = [0, 0];
  for (const match of find(compiled, all, count)) {
    if (count > 0 && parts.length === count - 1) break;
    end = match.start;
    if (match.end !== 0) parts.push(all.slice(begin, end));
    begin = match.end;
  }
  if (end !== all.length) parts.push(all.slice(begin));
  return parts;
}

/** Go's Expand: `$1`, `$name` (as many letters, digits and underscores as follow), `${name}`, `$$`. */
export function replaceTemplate(
  template: string,
  groups: readonly (string | undefined)[],
  names: ReadonlyMap<string, number>,
): string {
  return template.replaceAll(/\$(?:(\$)|\{(\w+)\}|(\w+))/g, (_whole, dollar, braced, bare) => {
    if (dollar) return '$';
    const name = String(braced ?? bare);
    const at = /^\d+$/.test(name) ? Number(name) : names.get(name);
    return (at === undefined ? undefined : groups[at]) ?? '';
  });
}
