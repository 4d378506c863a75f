import { isSpace } from './go-text.ts';

/** camelcase, snakecase and kebabcase of sprig, which has them from xstrings 1.5. */

const isConnector = (rune: string) => rune === '-' || rune === '_' || isSpace(rune);
const isUpper = (rune: string) => /^\p{Lu}$/u.test(rune);
const isLetter = (rune: string) =>
  /^\p{L}$/u.test(rune) &&
  !/^[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]$/u.test(rune);
const one = (changed: string, rune: string) => ([...changed].length === 1 ? changed : rune);
const toUpper = (rune: string) => one(rune.toUpperCase(), rune);
const toLower = (rune: string) => one(rune.toLowerCase(), rune);

/** xstrings.ToPascalCase. */
export function camelCase(text: string): string {
  const runes = [...text];
  let start = runes.findIndex((rune) => !isConnector(rune));
  if (start === -1) return runes.length === 0 ? '' : text + (runes.at(-1) ?? '');
  let result = runes.slice(0, start).join('');
  let wasUpper = isUpper(runes[start] ?? '');
  let current = toUpper(runes[start] ?? '');
  for (start++; start < runes.length; start++) {
    const before = current;
    current = runes[start] ?? '';
    if (isConnector(current) && isConnector(before)) {
      result += before;
      continue;
    }
    if (isConnector(before)) {
      wasUpper = isUpper(current);
      current = toUpper(current);
    } else {
      if (wasUpper) {
        if (isUpper(current)) current = toLower(current);
        else wasUpper = false;
      }
      result += before;
    }
  }
  return result + current;
}

type WordKind = 'none' | 'number' | 'upper' | 'letters' | 'connector' | 'punctuation' | 'other';

interface Word {
  kind: WordKind;
  text: string;
}

const isPunctuation = (rune: string) => /^\p{P}$/u.test(rune);
const isNumber = (rune: string) => /^\p{N}$/u.test(rune);

/** The word that begins here, by the kind of its first rune. */
function wordAt(runes: readonly string[], at: number): Word {
  const first = runes[at];
  if (first === undefined) return { kind: 'none', text: '' };
  const upTo = (kind: WordKind, goesOn: (rune: string) => boolean, from = at + 1): Word => {
    let end = from;
    while (end < runes.length && goesOn(runes[end] ?? '')) end++;
    return { kind, text: runes.slice(at, end).join('') };
  };
  const isLower = (rune: string) => isLetter(rune) && !isUpper(rune);
  if (isConnector(first)) return upTo('connector', isConnector);
  if (isPunctuation(first)) return upTo('punctuation', isPunctuation);
  if (isUpper(first)) {
    const second = runes[at + 1] ?? '';
    if (isUpper(second)) {
      const word = upTo('upper', isUpper);
      const length = [...word.text].length;
      // "HTTPServer": the last capital belongs to the next word.
      const next = runes[at + length];
      return next !== undefined && isLetter(next)
        ? { kind: 'upper', text: runes.slice(at, at + length - 1).join('') }
        : word;
    }
    return isLetter(second) ? upTo('upper', isLower) : { kind: 'upper', text: first };
  }
  if (isLetter(first)) return upTo('letters', isLower);
  if (isNumber(first)) return upTo('number', isNumber);
  return upTo(
    'other',
    (rune) => !isConnector(rune) && !isLetter(rune) && !isNumber(rune) && !isPunctuation(rune),
  );
}

/** xstrings.ToSnakeCase and ToKebabCase. */
export function lowerWords(text: string, connector: string): string {
  const runes = [...text];
  let at = 0;
  const next = (): Word => {
    const found = wordAt(runes, at);
    at += [...found.text].length;
    return found;
  };
  const hasMore = () => at < runes.length;
  let result = '';
  const write = ({ kind, text: word }: Word, as: WordKind = kind) => {
    if (as !== 'upper' && as !== 'connector') result += word;
    else
      for (const rune of word) result += isConnector(rune) ? connector : isUpper(rune) ? toLower(rune) : rune;
  };
  const needsConnector = ({ kind }: Word) =>
    kind !== 'none' && kind !== 'punctuation' && kind !== 'connector';
  let word = next();
  while (hasMore()) {
    if (word.kind !== 'connector') write(word);
    const before = word;
    word = next();
    if (before.kind === 'number') {
      while (word.kind === 'letters' || word.kind === 'number') {
        write(word);
        word = next();
      }
      if (needsConnector(word)) result += connector;
    } else if (before.kind === 'connector') write(before);
    else if (before.kind !== 'punctuation') {
      if (word.kind !== 'number') {
        if (word.kind !== 'connector' && word.kind !== 'punctuation') result += connector;
      } else if (hasMore()) {
        const number = word;
        word = next();
        if (word.kind !== 'letters') {
          write(number, 'number');
          if (word.kind !== 'connector' && word.kind !== 'punctuation') result += connector;
        } else {
          result += connector;
          write(number, 'number');
          while (word.kind === 'letters' || word.kind === 'number') {
            write(word);
            word = next();
          }
          if (needsConnector(word)) result += connector;
        }
      }
    }
  }
  write(word);
  return result;
}
