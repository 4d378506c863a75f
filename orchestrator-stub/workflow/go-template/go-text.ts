/** unicode.IsSpace over one rune. */
export function isSpace(rune: string): boolean {
  return /^[\t\n\v\f\r \u0085\u00A0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/u.test(rune);
}

function upper(rune: string): string {
  const changed = rune.toUpperCase();
  return [...changed].length === 1 ? changed : rune;
}

function lower(rune: string): string {
  const changed = rune.toLowerCase();
  return [...changed].length === 1 ? changed : rune;
}

/** goutils.SwapCase. */
export function swapCase(text: string): string {
  return [...text]
    .map((rune) => (/\p{Lu}|\p{Lt}/u.test(rune) ? lower(rune) : /\p{Ll}/u.test(rune) ? upper(rune) : rune))
    .join('');
}

/** goutils.Uncapitalize: the first letter of every word. */
export function uncapitalize(text: string): string {
  let isFirst = true;
  return [...text]
    .map((rune) => {
      if (isSpace(rune)) isFirst = true;
      else if (isFirst) {
        isFirst = false;
        return lower(rune);
      }
      return rune;
    })
    .join('');
}

/** goutils.Initials goes byte by byte, and makes a rune of each. */
export function initials(bytes: string): string {
  let isGap = true;
  let found = '';
  for (const byte of bytes) {
    if (isSpace(byte)) isGap = true;
    else if (isGap) {
      isGap = false;
      found += byte;
    }
  }
  return found;
}

/** goutils.AbbreviateFull over bytes; what it refuses becomes an empty text. */
export function abbreviate(text: string, offset: number, width: number): string {
  if (text === '' || width < 4) return '';
  if (text.length <= width) return text;
  let start = Math.min(offset, text.length);
  if (text.length - start < width - 3) start = text.length - (width - 3);
  if (start <= 4) return `${text.slice(0, width - 3)}...`;
  if (width < 7) return '';
  if (start + width - 3 < text.length) return `...${abbreviate(text.slice(start), 0, width - 3)}`;
  return `...${text.slice(text.length - (width - 3))}`;
}

/** goutils.WrapCustom over bytes. */
export function wrapText(text: string, wanted: number, separator: string, cutsWords: boolean): string {
  const width = Math.max(wanted, 1);
  let at = 0;
  let wrapped = '';
  while (text.length - at > width) {
    if (text[at] === ' ') {
      at++;
      continue;
    }
    const space = text.slice(at, at + width + 1).lastIndexOf(' ');
    if (space >= 0) {
      wrapped += text.slice(at, at + space) + separator;
      at += space + 1;
    } else if (cutsWords) {
      wrapped += text.slice(at, at + width) + separator;
      at += width;
    } else {
      const next = text.indexOf(' ', at + width);
      if (next === -1) {
        wrapped += text.slice(at);
        at = text.length;
      } else {
        wrapped += text.slice(at, next) + separator;
        at = next + 1;
      }
    }
  }
  return wrapped + text.slice(at);
}
