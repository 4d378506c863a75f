/** A text as one word of /bin/sh: between single quotes every character is itself. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
