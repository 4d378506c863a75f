import { KindlingError } from '../../protocol/error.ts';

/**
 * Patterns over the attributes of a machine, as Tinkerbell's WorkflowRuleSet has them: the JSON language of Quamina
 * (https://github.com/timbray/quamina/blob/main/PATTERNS.md). `suffix` and `numeric` are ours, after EventBridge, which Quamina
 * follows too; Tinkerbell 0.25 refuses them.
 */
export type AttributePattern = readonly PatternField[];

interface PatternField {
  /** The names on the way to a leaf; lists on the way are not counted. */
  path: readonly string[];
  tests: readonly LeafTest[];
}

type Leaf = string | number | boolean | null;
type LeafTest = { isAbsent: true } | { isAbsent: false; fits: (leaf: Leaf) => boolean };

/** Types of patterns that stand alone in their list. */
const EXCLUSIVE = new Set(['anything-but', 'exists']);

export function parsePattern(text: string): AttributePattern {
  let pattern: unknown;
  try {
    pattern = JSON.parse(text);
  } catch {
    throw invalid(text, 'it is not JSON');
  }
  if (!isObject(pattern)) throw invalid(text, 'it is not a JSON object');
  return fieldsOf(pattern, [], text);
}

function fieldsOf(node: { [key: string]: unknown }, path: readonly string[], text: string): PatternField[] {
  return Object.entries(node).flatMap(([key, value]) => {
    const here = [...path, key];
    if (isObject(value)) return fieldsOf(value, here, text);
    if (!Array.isArray(value)) throw invalid(text, `${here.join('.')} must be a list of values`);
    const values: unknown[] = value;
    const exclusive = values
      .flatMap((each) => (isObject(each) ? Object.keys(each) : []))
      .find((type) => EXCLUSIVE.has(type));
    if (exclusive !== undefined && values.length > 1)
      throw invalid(text, `${here.join('.')}: ${exclusive} cannot be combined with other values`);
    return [{ path: here, tests: values.map((each) => leafTest(each, text)) }];
  });
}

function leafTest(value: unknown, text: string): LeafTest {
  if (isLeaf(value)) return fits((leaf) => leaf === value);
  if (!isObject(value)) throw invalid(text, 'a list in a list');
  const [[type, argument] = ['', undefined], ...more] = Object.entries(value);
  if (more.length > 0) throw invalid(text, `${type}: one type of pattern in an object`);
  switch (type) {
    case 'exists':
      if (typeof argument !== 'boolean') throw invalid(text, 'exists must be true or false');
      return argument ? fits(() => true) : { isAbsent: true };
    case 'anything-but':
      return anythingBut(argument, text);
    case 'prefix':
      return ofText(type, argument, text, (wanted) => (leaf) => leaf.startsWith(wanted));
    case 'suffix':
      return ofText(type, argument, text, (wanted) => (leaf) => leaf.endsWith(wanted));
    case 'equals-ignore-case':
      return ofText(type, argument, text, (wanted) => (leaf) => folded(leaf) === folded(wanted));
    case 'shellstyle':
      return ofText(type, argument, text, (wanted) => glob(wanted.split('*'), text));
    case 'wildcard':
      return ofText(type, argument, text, (wanted) => glob(wildcardPieces(wanted, text), text));
    case 'numeric':
      return numeric(argument, text);
    default:
      throw invalid(text, `there is no type of pattern ${JSON.stringify(type)}`);
  }
}

function fits(test: (leaf: Leaf) => boolean): LeafTest {
  return { isAbsent: false, fits: test };
}

function ofText(
  type: string,
  argument: unknown,
  text: string,
  make: (wanted: string) => (leaf: string) => boolean,
): LeafTest {
  if (typeof argument !== 'string') throw invalid(text, `${type} must be a text`);
  const test = make(argument);
  return fits((leaf) => typeof leaf === 'string' && test(leaf));
}

function anythingBut(argument: unknown, text: string): LeafTest {
  const refused: unknown[] = Array.isArray(argument) ? argument : [];
  if (refused.length === 0 || refused.some((each) => typeof each !== 'string'))
    throw invalid(text, 'anything-but must be a list of texts');
  return fits((leaf) => !refused.includes(leaf));
}

/** Quamina compares by Unicode's case folding; upper before lower case brings "ß" and "SS" together as it does. */
function folded(text: string): string {
  return text.toUpperCase().toLowerCase();
}

/** The texts between the stars; a backslash makes a star or a backslash an ordinary character. */
function wildcardPieces(wanted: string, text: string): string[] {
  if (/(?:^|[^\\])(?:\\\\)*\\(?:[^\\*]|$)/.test(wanted))
    throw invalid(text, 'in a wildcard, a backslash stands before a star or a backslash');
  const pieces = [''];
  for (const [, escaped, star, plain] of wanted.matchAll(/\\([\\*])|(\*)|([^\\*]+)/g)) {
    if (star) pieces.push('');
    else pieces.push((pieces.pop() ?? '') + (escaped ?? plain ?? ''));
  }
  return pieces;
}

function glob(pieces: readonly string[], text: string): (leaf: string) => boolean {
  if (pieces.slice(1, -1).includes('')) throw invalid(text, 'adjacent stars');
  const [first = '', ...rest] = pieces;
  const last = rest.pop();
  return (leaf) => {
    if (last === undefined) return leaf === first;
    if (!leaf.startsWith(first)) return false;
    let at = first.length;
    for (const piece of rest) {
      const found = leaf.indexOf(piece, at);
      if (found === -1) return false;
      at = found + piece.length;
    }
    return leaf.length - at >= last.length && leaf.endsWith(last);
  };
}

const COMPARISONS: Record<string, (leaf: number, bound: number) => boolean> = {
  '=': (leaf, bound) => leaf === bound,
  '<': (leaf, bound) => leaf < bound,
  '<=': (leaf, bound) => leaf <= bound,
  '>': (leaf, bound) => leaf > bound,
  '>=': (leaf, bound) => leaf >= bound,
};

/** `["=", 8]`, `[">", 0, "<=", 64]`. */
function numeric(argument: unknown, text: string): LeafTest {
  const words: unknown[] = Array.isArray(argument) ? argument : [];
  const bounds: ((leaf: number) => boolean)[] = [];
  for (let at = 0; at < words.length; at += 2) {
    const [operator, bound] = [words[at], words[at + 1]];
    const compare = typeof operator === 'string' ? COMPARISONS[operator] : undefined;
    if (!compare || typeof bound !== 'number')
      throw invalid(text, 'numeric is a list like [">", 0, "<=", 64]');
    bounds.push((leaf) => compare(leaf, bound));
  }
  if (bounds.length === 0) throw invalid(text, 'numeric is a list like [">", 0, "<=", 64]');
  return fits((leaf) => typeof leaf === 'number' && bounds.every((holds) => holds(leaf)));
}

/** A leaf of the attributes with the entries of lists that lead to it: "the second of list 7". */
interface EventField {
  path: string;
  leaf: Leaf;
  entries: ReadonlyMap<number, number>;
}

/** Attributes made ready for any number of patterns. */
export class AttributeFields {
  readonly #fields = new Map<string, EventField[]>();
  #lists = 0;

  constructor(attributes: unknown) {
    this.#collect(attributes, '', new Map());
  }

  /** Every field of the pattern fits a leaf, and where two lie in one list, both are of the same entry of it. */
  matches(pattern: AttributePattern): boolean {
    if (pattern.length === 0) return false;
    // What has another first name lies in other lists: each group is looked at alone, so nothing is tried crosswise.
    const groups = Map.groupBy(pattern, ({ path }) => path[0]);
    return [...groups.values()].every((group) => this.#matchesFrom(group, 0, new Map()));
  }

  #matchesFrom(fields: readonly PatternField[], at: number, chosen: ReadonlyMap<number, number>): boolean {
    const field = fields[at];
    if (!field) return true;
    const leaves = this.#fields.get(field.path.join('\n')) ?? [];
    if (leaves.length === 0 && field.tests.some(({ isAbsent }) => isAbsent))
      return this.#matchesFrom(fields, at + 1, chosen);
    return leaves.some(
      ({ leaf, entries }) =>
        [...entries].every(([list, entry]) => (chosen.get(list) ?? entry) === entry) &&
        field.tests.some((test) => !test.isAbsent && test.fits(leaf)) &&
        this.#matchesFrom(fields, at + 1, new Map([...chosen, ...entries])),
    );
  }

  #collect(node: unknown, path: string, entries: ReadonlyMap<number, number>): void {
    if (Array.isArray(node)) {
      const list = this.#lists++;
      for (const [entry, each] of node.entries())
        this.#collect(each, path, new Map([...entries, [list, entry]]));
    } else if (isObject(node)) {
      for (const [key, each] of Object.entries(node))
        this.#collect(each, path ? `${path}\n${key}` : key, entries);
    } else if (isLeaf(node)) {
      const known = this.#fields.get(path);
      if (known) known.push({ path, leaf: node, entries });
      else this.#fields.set(path, [{ path, leaf: node, entries }]);
    }
  }
}

function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isLeaf(value: unknown): value is Leaf {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function invalid(text: string, why: string): KindlingError {
  return new KindlingError('KND_RULE_INVALID', `the pattern ${text.slice(0, 200)}: ${why}`);
}
