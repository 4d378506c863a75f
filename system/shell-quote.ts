/** A text as one word of a POSIX shell, whatever is in it. A shell has no way to hold a NUL: it is left out. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll('\0', '').replaceAll("'", `'\\''`)}'`;
}
