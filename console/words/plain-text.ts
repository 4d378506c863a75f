/** What a terminal would take as an order (colors, cursor moves), and controls that show nothing. Tab and line feed stay. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b[@-_]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Marks that turn the direction of the text around them: a name could disguise itself with them. */
const DIRECTION = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Text of a machine or a stranger, fit to be shown: without controls and marks of direction, and no longer than a person
 * would read. Angle brackets stay: the page shows text as text.
 */
export function plainText(text: string, most = 2000): string {
  const clean = text
    .slice(0, most * 2)
    .replace(CONTROLS, '')
    .replace(DIRECTION, '');
  return clean.length > most ? `${clean.slice(0, most - 1)}…` : clean;
}
