/**
 * Texts as Go has them: bytes, here one per character (latin1), so that what is no UTF-8 survives.
 */
export function toBytes(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/** Bytes that are no UTF-8 become U+FFFD, one each, as where Go goes through a text rune by rune. */
export function fromBytes(bytes: string): string {
  return isAscii(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8');
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

/** The bytes of the rune that begins here. */
export function runeAt(bytes: string, at: number): string {
  const first = bytes.charCodeAt(at);
  const length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return bytes.slice(at, at + length);
}

const ESCAPES: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
};

/** A double-quoted Go string over bytes, as strconv.Quote and sprig's `quote` write it. */
export function quoteGo(bytes: string, isAscii = false): string {
  const buffer = Buffer.from(bytes, 'latin1');
  let quoted = '';
  for (let at = 0; at < buffer.length; ) {
    const rune = runeAt(bytes, at);
    const text = fromBytes(rune);
    if (text.codePointAt(0) === 0xfffd && rune !== '\xef\xbf\xbd') {
      quoted += `\\x${buffer.toString('hex', at, at + 1)}`;
      at++;
    } else {
      quoted += escapeRune(text, '"', isAscii);
      at += rune.length;
    }
  }
  return `"${quoted}"`;
}

/** The same for a text that is no bytes. */
export function quoteText(text: string): string {
  return fromBytes(quoteGo(toBytes(text)));
}

/** One rune inside Go's quotes. */
export function escapeRune(rune: string, quote: string, isAscii: boolean): string {
  if (rune === quote) return `\\${rune}`;
  const known = ESCAPES[rune];
  if (known) return known;
  const code = rune.codePointAt(0) ?? 0;
  if (isPrintable(rune) && (!isAscii || code < 0x80)) return toBytes(rune);
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code < 0x10000
    ? `\\u${code.toString(16).padStart(4, '0')}`
    : `\\U${code.toString(16).padStart(8, '0')}`;
}

export function isPrintable(rune: string): boolean {
  return rune === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(rune);
}
