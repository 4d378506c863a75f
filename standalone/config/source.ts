import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
} from 'yaml';
import type { Finding, Path, PathSegment } from './issue.ts';
import { explainYamlFault } from './yaml-fault.ts';

/** A config file as text, as a value, and the way back from a value to its line and column. */
export interface Source {
  value: unknown;
  /** Findings about the text itself, which have no path but a place. */
  textFindings: (Omit<Finding, 'path'> & Position)[];
  /** The place of a path; where the path does not exist, of the nearest thing above it. */
  locate(path: Path): Position;
  /** True if the whole path exists in the file, under the name it was written with. */
  has(path: Path): boolean;
  /** Quoted text that stands on several lines in the file. */
  spansLines(path: Path): boolean;
}

export interface Position {
  line: number;
  column: number;
}

const OLD_FORMAT_LINE = /^[A-Za-z_]+=/;
const NEW_FORMAT_LINE = /^(version|operatingSystem|kubernetes)\s*:/m;

/** Reads a config file; a text that is not YAML has that one finding and no value. */
export function readSource(text: string): Source {
  const oldLine = text.split('\n').findIndex((line) => OLD_FORMAT_LINE.test(line));
  if (oldLine >= 0 && !NEW_FORMAT_LINE.test(text)) return oldFormat(oldLine + 1);

  const textFindings: Source['textFindings'] = [];
  const repaired = indentContinuations(text, (line) =>
    textFindings.push({
      code: 'CFG006',
      message: 'this line continues quoted text and must be indented',
      line,
      column: 1,
    }),
  );
  const lines = new LineCounter();
  const documents = parseAllDocuments(repaired, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const positionOf = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  if (!Array.isArray(documents) || documents[0] === undefined) {
    return empty([{ code: 'CFG001', message: 'not valid YAML: the file is empty', line: 1, column: 1 }]);
  }
  const [document, second] = documents;
  for (const { code, message, pos } of document.errors) {
    const explained = explainYamlFault(repaired, { code, message, ...positionOf(pos[0]) });
    const finding = {
      ...explained,
      code: 'CFG001',
      message: `not valid YAML: ${explained.message}`,
    } as const;
    // Whatever else the parser or the rules would say about a text that does not parse is a consequence of this.
    if (code !== 'DUPLICATE_KEY') return empty([finding]);
    textFindings.push(finding);
  }
  if (second !== undefined) {
    const message = 'not valid YAML: more than one document in the file';
    textFindings.push({ code: 'CFG001', message, ...positionOf(second.range?.[0] ?? 0) });
  }
  return {
    value: toValue(document, textFindings),
    textFindings,
    locate: (path) => positionOf(placeOf(document, path).offset),
    has: (path) => placeOf(document, path).depth === path.length,
    spansLines: (path) => {
      const { node } = placeOf(document, path);
      if (!isScalar(node) || node.type === undefined || !node.type.startsWith('QUOTE_') || !node.range)
        return false;
      return repaired.slice(node.range[0], node.range[1]).includes('\n');
    },
  };
}

/** The value; an alias without its anchor shows up only here. */
function toValue(document: Document.Parsed, textFindings: Source['textFindings']): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    textFindings.push({ code: 'CFG001', message: `not valid YAML: ${reason}`, line: 1, column: 1 });
    return undefined;
  }
}

function oldFormat(line: number): Source {
  const message = 'this is the old text format; run "kindling standalone migrate" on it';
  return empty([{ code: 'CFG004', message, line, column: 1 }]);
}

function empty(textFindings: Source['textFindings']): Source {
  const start = { line: 1, column: 1 };
  return { value: undefined, textFindings, locate: () => start, has: () => false, spansLines: () => false };
}

/**
 * YAML forbids a quoted text to go on in a line that is indented less than its start; PyYAML lets it pass, and the
 * installer proposal's own example does it. Indenting such lines keeps the rest of the file readable for the rules.
 */
function indentContinuations(text: string, onRepair: (line: number) => void): string {
  const lines = text.split('\n');
  for (let repairs = 0; repairs < 50; repairs++) {
    const counter = new LineCounter();
    const documents = parseAllDocuments(lines.join('\n'), {
      lineCounter: counter,
      prettyErrors: false,
      logLevel: 'silent',
    });
    if (!Array.isArray(documents)) break;
    const error = documents
      .flatMap((document) => document.errors)
      .find(({ code, message }) => code === 'MISSING_CHAR' && message.includes('quote'));
    if (error === undefined) break;
    const broken = counter.linePos(error.pos[0]).line;
    const start = lines[broken - 1];
    const next = lines[broken];
    if (start === undefined || next === undefined || next.trim() === '') break;
    const wanted = start.length - start.trimStart().length + 2;
    if (next.length - next.trimStart().length >= wanted) break;
    lines[broken] = ' '.repeat(wanted) + next.trimStart();
    onRepair(broken + 1);
  }
  return lines.join('\n');
}

interface Place {
  node: Node | null;
  offset: number;
  depth: number;
}

/**
 * Walks down a path as the normalized value has it. The file may have written it otherwise: a key in another case, no
 * `kthreesConfigSpec` level, one file where a list is meant; such a step is found, or stays where it is.
 */
function placeOf(document: Document.Parsed, path: Path): Place {
  let place: Place = { node: document.contents, offset: document.contents?.range?.[0] ?? 0, depth: 0 };
  for (const segment of path) {
    const next = stepInto(place.node, segment);
    if (next === undefined) {
      const staysHere = segment === 'kthreesConfigSpec' || (segment === 0 && isMap(place.node));
      if (!staysHere) return place;
      place = { ...place, depth: place.depth + 1 };
    } else {
      place = { ...next, depth: place.depth + 1 };
    }
  }
  return place;
}

function stepInto(node: Node | null, segment: PathSegment): Omit<Place, 'depth'> | undefined {
  if (isSeq(node) && typeof segment === 'number') {
    const item = node.items[segment];
    return isNode(item) ? { node: item, offset: item.range?.[0] ?? 0 } : undefined;
  }
  if (!isMap(node)) return undefined;
  const wanted = String(segment);
  const named = (matches: (key: string) => boolean) =>
    node.items.find((pair) => isPair(pair) && isScalar(pair.key) && matches(String(pair.key.value)));
  const pair = named((key) => key === wanted) ?? named((key) => key.toLowerCase() === wanted.toLowerCase());
  if (pair === undefined) return undefined;
  const key = isNode(pair.key) ? (pair.key.range?.[0] ?? 0) : 0;
  // A finding about a value points at the value where it stands in the same line as a scalar, else at its key.
  const value = isNode(pair.value) ? pair.value : null;
  return { node: value, offset: isScalar(value) && value.range ? value.range[0] : key };
}
