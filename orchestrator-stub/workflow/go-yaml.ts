import {
  CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  Parser,
  parseAllDocuments,
  type Scalar,
} from 'yaml';

/** A value of a YAML file as Go's yaml.v3 hands it to a struct: anchors and merge keys are gone, scalars stay as written. */
export type YamlValue = { line: number } & (
  | { kind: 'scalar'; text: string; type: ScalarType }
  | { kind: 'list'; items: YamlValue[] }
  | { kind: 'map'; entries: YamlEntry[] }
);

export interface YamlEntry {
  key: string;
  line: number;
  value: YamlValue;
}

/** What yaml.v3 takes a scalar for, as far as a struct of texts and whole numbers can tell. */
export type ScalarType = 'null' | 'number' | 'other';

export interface YamlFault {
  line: number;
  message: string;
}

/** As many values as aliases may stand for, all told: a file of a few lines must not fill the memory. */
const MAX_VALUES = 100_000;
const MAX_REPAIRS = 200;

/** Reads the first document of a text. The root is undefined for an empty one. */
export function readGoYaml(text: string): { root: YamlValue | undefined; faults: YamlFault[] } {
  const lines = new LineCounter();
  const indented = indentQuoted(text);
  const documents = parseAllDocuments(indented, {
    lineCounter: lines,
    strict: true,
    uniqueKeys: true,
    merge: true,
  });
  const document = Array.isArray(documents) ? documents[0] : undefined;
  if (!document) return { root: undefined, faults: [] };
  const faults = document.errors.map(({ linePos, message }) => ({
    line: linePos?.[0].line ?? 1,
    message: message.split('\n')[0] ?? '',
  }));
  if (faults.length > 0 || document.contents === null) return { root: undefined, faults };
  const reader = new Reader(document, lines, faults);
  return { root: reader.read(document.contents), faults };
}

class Reader {
  readonly #document: Document;
  readonly #lines: LineCounter;
  readonly #faults: YamlFault[];
  /** Where aliases lead; to find it out means to walk through the whole document. */
  readonly #targets = new Map<Node, Node>();
  #values = 0;

  constructor(document: Document, lines: LineCounter, faults: YamlFault[]) {
    this.#document = document;
    this.#lines = lines;
    this.#faults = faults;
  }

  read(node: unknown, inside: readonly string[] = []): YamlValue {
    const line = this.#line(node);
    const nothing: YamlValue = { kind: 'scalar', text: '', type: 'null', line };
    if (++this.#values > MAX_VALUES) {
      if (this.#values === MAX_VALUES + 1) this.#fault(line, 'document contains excessive aliasing');
      return nothing;
    }
    if (isAlias(node)) {
      const target = this.#targets.get(node) ?? node.resolve(this.#document);
      if (!target) return nothing;
      this.#targets.set(node, target);
      if (!inside.includes(node.source)) return this.read(target, [...inside, node.source]);
      this.#fault(line, `anchor '${node.source}' value contains itself`);
      return nothing;
    }
    if (isSeq(node)) return { kind: 'list', items: node.items.map((item) => this.read(item, inside)), line };
    if (isMap(node)) return { kind: 'map', entries: this.#entries(node.items, inside), line };
    if (!isScalar(node)) return nothing;
    return { kind: 'scalar', ...this.#scalar(node, line), line };
  }

  #entries(pairs: readonly { key: unknown; value: unknown }[], inside: readonly string[]): YamlEntry[] {
    const own: YamlEntry[] = [];
    const merged: YamlEntry[] = [];
    for (const { key, value } of pairs) {
      const line = this.#line(key);
      const name = this.read(key, inside);
      if (name.kind !== 'scalar') this.#fault(line, 'a key must be a text');
      else if (name.text === '<<' && isScalar(key) && key.type === 'PLAIN')
        merged.push(...this.#merged(this.read(value, inside), line));
      else own.push({ key: name.text, line, value: this.read(value, inside) });
    }
    // What stands in the mapping itself wins; of several merged ones the first does.
    const known = new Set(own.map(({ key }) => key));
    for (const entry of merged) {
      if (!known.has(entry.key)) own.push(entry);
      known.add(entry.key);
    }
    return own;
  }

  #merged(value: YamlValue, line: number): YamlEntry[] {
    if (value.kind === 'map') return value.entries;
    if (value.kind === 'list') return value.items.flatMap((item) => this.#merged(item, line));
    this.#fault(line, 'map merge requires map or sequence of maps as the value');
    return [];
  }

  #scalar(node: Scalar, line: number): { text: string; type: ScalarType } {
    if (node.tag === 'tag:yaml.org,2002:binary') {
      const text = (node.source ?? '').replaceAll(/\s/g, '');
      if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) {
        this.#fault(line, '!!binary value contains invalid base64 data');
      }
      return { text: Buffer.from(text, 'base64').toString(), type: 'other' };
    }
    const isText = node.type !== 'PLAIN' || node.tag === 'tag:yaml.org,2002:str';
    const text = typeof node.value === 'string' ? node.value : (node.source ?? '');
    if (isText) return { text, type: 'other' };
    if (/^(~|null|Null|NULL)?$/.test(text)) return { text: '', type: 'null' };
    return { text, type: wholeNumber(text) === undefined ? 'other' : 'number' };
  }

  #line(node: unknown): number {
    const offset = (node as Node | null)?.range?.[0];
    return (offset === undefined ? 0 : this.#lines.linePos(offset).line) || 1;
  }

  #fault(line: number, message: string): void {
    this.#faults.push({ line, message });
  }
}

/** A whole number as yaml.v3 reads it into an int64: 010 is octal, 1_000 has a mark, a fraction is cut off. */
export function wholeNumber(text: string): number | undefined {
  const plain = text.replaceAll('_', '');
  const [, sign = '', digits = ''] = /^([-+]?)(.*)$/s.exec(plain) ?? [];
  const value = magnitude(digits);
  return value === undefined ? undefined : (sign === '-' ? -1 : 1) * value;
}

function magnitude(digits: string): number | undefined {
  if (/^0[0-7]+$/.test(digits)) return Number.parseInt(digits, 8);
  if (/^0[oO][0-7]+$|^0[xX][0-9a-fA-F]+$|^0[bB][01]+$/.test(digits)) return Number(digits);
  if (/^(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/.test(digits)) return Math.trunc(Number(digits));
  return undefined;
}

/**
 * Go takes a quoted text whose further lines stand no deeper than its key; our parser does not. How deep they stand means
 * nothing, so they are moved to where it does. Lines stay what they are.
 */
function indentQuoted(text: string): string {
  let repaired = text;
  for (let repair = 0; repair < MAX_REPAIRS; repair++) {
    const start = openQuote(repaired);
    const end = start === undefined ? undefined : closingQuote(repaired, start);
    if (start === undefined || end === undefined) return repaired;
    const column = start - repaired.lastIndexOf('\n', start);
    const body = repaired.slice(start, end).replaceAll(/\n[ \t]*(?=[^\s])/g, `\n${' '.repeat(column)}`);
    if (body === repaired.slice(start, end)) return repaired;
    repaired = repaired.slice(0, start) + body + repaired.slice(end);
  }
  return repaired;
}

/** Where the first quoted text begins that our parser finds no end of. */
function openQuote(text: string): number | undefined {
  let found: number | undefined;
  for (const token of new Parser().parse(text)) {
    if (token.type !== 'document') continue;
    CST.visit(token, ({ key, value }) => {
      for (const each of [key, value]) {
        if (each?.type !== 'double-quoted-scalar' && each?.type !== 'single-quoted-scalar') continue;
        if (closingQuote(each.source, 0) === each.source.length) continue;
        found = Math.min(found ?? each.offset, each.offset);
      }
    });
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The offset after the quote that ends the text which begins here. */
function closingQuote(text: string, start: number): number | undefined {
  const pattern = text[start] === '"' ? /"(?:[^"\\]|\\[\s\S])*"/y : /'(?:[^']|'')*'/y;
  pattern.lastIndex = start;
  const whole = pattern.exec(text)?.[0];
  return whole === undefined ? undefined : start + whole.length;
}
