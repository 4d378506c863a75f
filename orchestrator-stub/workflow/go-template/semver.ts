import { fail } from './errors.ts';
import { takes } from './signature.ts';
import { Int, Struct, type Value } from './values.ts';

/** Masterminds' semver 3.3, which sprig has. */
export interface Version {
  numbers: [bigint, bigint, bigint];
  pre: string;
  metadata: string;
  original: string;
}

const TAIL = String.raw`(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?`;
const VERSION = new RegExp(`^v?(\\d+)(?:\\.(\\d+))?(?:\\.(\\d+))?${TAIL}$`);
const PART = '[0-9|xX*]+';
const BOUND = String.raw`v?(${PART})(?:\.(${PART}))?(?:\.(${PART}))?${TAIL}`;
const OPERATOR = '=>|=<|!=|>=|<=|~>|[=><~^]|';
const CONSTRAINT = new RegExp(`(${OPERATOR})\\s*(${BOUND})`, 'g');
const PLAIN_BOUND = BOUND.replaceAll(/\((?!\?)/g, '(?:');
const VALID = new RegExp(
  `^\\s*(?:${OPERATOR})\\s*${PLAIN_BOUND}\\s*(?:(?:\\s+|,\\s*)(?:${OPERATOR})\\s*${PLAIN_BOUND}\\s*)*$`,
);
const RANGE = new RegExp(`\\s*(${PLAIN_BOUND})\\s+-\\s+(${PLAIN_BOUND})\\s*`, 'g');

export function parseVersion(text: string): Version {
  const found = VERSION.exec(text);
  if (!found) return fail('Invalid Semantic Version');
  const [, major = '0', minor = '0', patch = '0', pre = '', metadata = ''] = found;
  if (pre.split('.').some((part) => /^0\d+$/.test(part))) fail('Version segment starts with 0');
  return { numbers: [BigInt(major), BigInt(minor), BigInt(patch)], pre, metadata, original: text };
}

/** Masterminds' Version with its methods; `IncMinor` and its like give a value, `semver` a pointer. */
export function versionValue(version: Version, isPointer: boolean): Struct {
  const [major, minor, patch] = version.numbers;
  const number = (value: bigint) => takes('', () => new Int(value, 'uint64'));
  const fixed = (value: Value) => takes('', () => value);
  const raised = (...numbers: Version['numbers']) =>
    takes('', () => {
      const prefix = version.original.startsWith('v') ? 'v' : '';
      const original = prefix + numbers.join('.');
      return versionValue({ numbers, pre: '', metadata: '', original }, false);
    });
  const compared = (decide: (order: number) => Value) =>
    takes('*semver.Version', (other) => decide(compareVersions(version, versionOf(other))));
  const fields: [string, Value][] = [['version', version.original]];
  return new Struct('semver.Version', fields, {
    isPointer,
    text: versionText(version),
    methods: {
      Major: number(major),
      Minor: number(minor),
      Patch: number(patch),
      Prerelease: fixed(version.pre),
      Metadata: fixed(version.metadata),
      Original: fixed(version.original),
      String: fixed(versionText(version)),
      IncMajor: raised(major + 1n, 0n, 0n),
      IncMinor: raised(major, minor + 1n, 0n),
      // A version before a release is raised to the release itself.
      IncPatch: raised(major, minor, version.pre === '' ? patch + 1n : patch),
      Compare: compared((order) => new Int(order)),
      Equal: compared((order) => order === 0),
      GreaterThan: compared((order) => order > 0),
      GreaterThanEqual: compared((order) => order >= 0),
      LessThan: compared((order) => order < 0),
      LessThanEqual: compared((order) => order <= 0),
    },
  });
}

function versionOf(value: Value | undefined): Version {
  const original = value instanceof Struct ? value.fields.get('version') : undefined;
  return typeof original === 'string' ? parseVersion(original) : fail('not a version');
}

function versionText({ numbers, pre, metadata }: Version): string {
  return numbers.join('.') + (pre && `-${pre}`) + (metadata && `+${metadata}`);
}

function compareVersions(a: Version, b: Version): number {
  for (const at of [0, 1, 2] as const)
    if (a.numbers[at] !== b.numbers[at]) return a.numbers[at] < b.numbers[at] ? -1 : 1;
  return comparePre(a.pre, b.pre);
}

function comparePre(a: string, b: string): number {
  if (a === b) return 0;
  if (a === '' || b === '') return a === '' ? 1 : -1;
  const [first, second] = [a.split('.'), b.split('.')];
  for (let at = 0; at < Math.max(first.length, second.length); at++) {
    const [x, y] = [first[at], second[at]];
    if (x === y) continue;
    if (x === undefined || y === undefined) return x === undefined ? -1 : 1;
    const [isX, isY] = [/^\d+$/.test(x), /^\d+$/.test(y)];
    if (isX && isY) return BigInt(x) < BigInt(y) ? -1 : 1;
    if (isX !== isY) return isX ? -1 : 1;
    return x < y ? -1 : 1;
  }
  return 0;
}

interface Constraint {
  operator: string;
  bound: Version;
  isMinorOpen: boolean;
  isPatchOpen: boolean;
}

/** `>= 1.2, < 2 || 3.x` */
export function satisfies(constraint: string, readVersion: () => Version): boolean {
  const alternatives = constraint
    .replaceAll(RANGE, (_whole, from: string, to: string) => `>= ${from}, <= ${to} `)
    .split('||')
    .map((alternative) => {
      if (!VALID.test(alternative)) fail(`improper constraint: ${alternative}`);
      return [...alternative.matchAll(CONSTRAINT)].map(readConstraint);
    });
  const version = readVersion();
  return alternatives.some((all) => all.every((each) => holds(each, version)));
}

function readConstraint([
  ,
  operator = '',
  ,
  major = '',
  minor,
  patch,
  pre = '',
]: RegExpMatchArray): Constraint {
  const isOpen = (part: string | undefined) => part === undefined || /^[xX*]$/.test(part);
  const isMajorOpen = isOpen(major);
  const isMinorOpen = isMajorOpen || isOpen(minor);
  const isPatchOpen = isMinorOpen || isOpen(patch);
  const number = (part: string | undefined, open: boolean) => (open ? '0' : (part ?? '0'));
  const text = `${number(major, isMajorOpen)}.${number(minor, isMinorOpen)}.${number(patch, isPatchOpen)}`;
  const bound = parseVersion(
    pre && !isPatchOpen ? `${text}-${pre}` : pre && !isMajorOpen ? `${text}-${pre}` : text,
  );
  return { operator: isMajorOpen ? '>=' : operator, bound, isMinorOpen, isPatchOpen };
}

function holds({ operator, bound, isMinorOpen, isPatchOpen }: Constraint, version: Version): boolean {
  const order = compareVersions(version, bound);
  const [[major, minor, patch], [boundMajor, boundMinor, boundPatch]] = [version.numbers, bound.numbers];
  const isOpen = isMinorOpen || isPatchOpen;
  const isHidden = version.pre !== '' && bound.pre === '';
  if (operator === '!=') {
    if (!isOpen) return order !== 0;
    if (isHidden) return false;
    if (major !== boundMajor) return true;
    if (isMinorOpen) return false;
    if (minor !== boundMinor) return true;
    return comparePre(version.pre, bound.pre) !== 0;
  }
  if (isHidden) return false;
  switch (operator) {
    case '>':
      if (!isOpen) return order > 0;
      if (major !== boundMajor) return major > boundMajor;
      return !isMinorOpen && minor > boundMinor;
    case '<':
      return order < 0;
    case '>=':
    case '=>':
      return order >= 0;
    case '<=':
    case '=<':
      if (!isOpen) return order <= 0;
      return !(major > boundMajor || (major === boundMajor && minor > boundMinor && !isMinorOpen));
    case '^':
      if (order < 0) return false;
      if (boundMajor > 0n || isMinorOpen) return major === boundMajor;
      if (major > 0n) return false;
      if (boundMinor > 0n || isPatchOpen) return minor === boundMinor;
      return minor === 0n && patch === boundPatch;
    case '':
    case '=':
      return isOpen ? isNear() : order === 0;
    default:
      return isNear();
  }

  function isNear(): boolean {
    if (order < 0) return false;
    if (!isOpen && boundMajor === 0n && boundMinor === 0n && boundPatch === 0n) return true;
    return major === boundMajor && (isMinorOpen || minor === boundMinor);
  }
}
