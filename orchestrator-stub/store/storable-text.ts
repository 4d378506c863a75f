/** A NUL or half of a surrogate pair, as an escape in a JSON document. An escaped backslash is matched first, so that what follows it is text. */
const ESCAPE = /\\\\|\\u(?:0000|d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|d[89a-f][0-9a-f]{2})/gi;
const PAIR_LENGTH = '\\ud800\\udc00'.length;

/**
 * What every engine can keep of a text. PostgreSQL refuses NUL and halves of surrogate pairs, which a machine may send: they become
 * U+FFFD, because a report that is refused would be sent again for ever.
 */
export function toStorable(text: string): string {
  const stored = text.replaceAll('\0', '\ufffd').toWellFormed();
  if (!isDocument(stored) || !stored.includes('\\u')) return stored;
  return stored.replace(ESCAPE, (found) =>
    found === '\\\\' || found.length === PAIR_LENGTH ? found : '\\ufffd',
  );
}

function isDocument(text: string): boolean {
  return text.startsWith('{') || text.startsWith('[');
}
