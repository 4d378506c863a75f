/** What differs from run to run, and how it looks; the parts in brackets are sizes, which have to be about right. */
const PLACES = [
  { name: 'omitted', looksLike: '…', matches: '.*' },
  {
    name: 'uuid',
    looksLike: '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
    matches: '[0-9a-f-]{36}',
  },
  { name: 'node', looksLike: 'host-[0-9a-f]{8}', matches: 'host-[0-9a-f]{8}' },
  { name: 'key', looksLike: String.raw`[\w+/-]{43}(?![\w+/-])`, matches: String.raw`[\w+/-]{43}` },
  { name: 'hash', looksLike: '[0-9a-f]{64}', matches: '[0-9a-f]{64}' },
  {
    name: 'clock',
    looksLike: String.raw`\d\d:\d\d:\d\d(?:\.\d+)?`,
    matches: String.raw`\d\d:\d\d:\d\d(?:\.\d+)?`,
  },
  {
    name: 'time',
    looksLike: String.raw`\d[\d.,]*(?: ms| s| min)\b`,
    matches: String.raw`\d[\d.,]*(?: ms| s| min)`,
  },
  {
    name: 'size',
    looksLike: String.raw`\d[\d.,]*(?= (?:[kMG]i?)?B\b)`,
    matches: String.raw`(\d[\d.,]*)`,
  },
] as const;

const ANY_PLACE = new RegExp(PLACES.map(({ name, looksLike }) => `(?<${name}>${looksLike})`).join('|'), 'g');
/** Debian's packages grow; a page that is off by more is to be corrected. */
const SIZE_TOLERANCE = 0.25;

/**
 * Where what was printed is not what the page shows; undefined if it is. Times, ids and keys are any, sizes about right; `…` alone
 * stands for any number of lines, in a line for any text. Where printing goes on, further lines may have come.
 */
export function differenceFromShown(
  shown: readonly string[],
  printed: readonly string[],
  { mayGoOn = false } = {},
): string | undefined {
  let at = 0;
  let mayLeaveOut = false;
  for (const line of shown) {
    if (line.trim() === '…') {
      mayLeaveOut = true;
      continue;
    }
    const found = printed.findIndex((text, index) => index >= at && isAsShown(line, text));
    if (found === -1 || (found > at && !mayLeaveOut)) {
      const instead = mayLeaveOut || at >= printed.length ? 'nothing like it' : `“${printed[at]}”`;
      return `shows “${line}”, printed is ${instead}`;
    }
    at = found + 1;
    mayLeaveOut = false;
  }
  if (at < printed.length && !mayLeaveOut && !mayGoOn) return `printed is also “${printed[at]}”`;
  return undefined;
}

function isAsShown(shown: string, printed: string): boolean {
  const sizes: string[] = [];
  let pattern = '';
  let end = 0;
  const line = columns(shown);
  for (const match of line.matchAll(ANY_PLACE)) {
    const place = PLACES.find(({ name }) => match.groups?.[name] !== undefined);
    if (place?.name === 'size') sizes.push(match[0]);
    pattern += literally(line.slice(end, match.index)) + (place?.matches ?? '');
    end = match.index + match[0].length;
  }
  const found = new RegExp(`^${pattern}${literally(line.slice(end))}$`).exec(columns(printed));
  return (
    found !== null && sizes.every((size, index) => isAbout(numberOf(size), numberOf(found[index + 1] ?? '')))
  );
}

function literally(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

/** A column is as wide as its widest cell, and ids and times are not always of one width. */
function columns(line: string): string {
  return line.trimEnd().replaceAll(/ {2,}/g, '  ');
}

function numberOf(text: string): number {
  return Number(text.replaceAll(',', ''));
}

function isAbout(shown: number, printed: number): boolean {
  return Math.abs(shown - printed) <= shown * SIZE_TOLERANCE;
}
