import { printValue, toText, typeName, type Value } from './values.ts';

const DIRECTIVE = /%([-+# 0]*)(\d+|\*)?(?:\.(\d+))?([a-zA-Z%])/g;

/** Go's fmt.Sprintf for the values templates have, its complaints about wrong arguments included. */
export function sprintf(format: string, args: readonly Value[]): string {
  let used = 0;
  const text = format.replace(
    DIRECTIVE,
    (_whole, flags: string, width: string | undefined, precision: string | undefined, verb: string) => {
      if (verb === '%') return '%';
      const columns = width === '*' ? Number(args[used++]) : Number(width ?? 0);
      if (used >= args.length) return `%!${verb}(MISSING)`;
      const value = args[used++];
      const digits = precision === undefined ? undefined : Number(precision);
      return pad(formatOne(verb, value, flags, digits), columns, flags, typeof value === 'number');
    },
  );
  if (used >= args.length) return text;
  const extra = args.slice(used).map((value) => `${typeName(value)}=${printValue(value)}`);
  return `${text}%!(EXTRA ${extra.join(', ')})`;
}

function formatOne(verb: string, value: Value, flags: string, precision: number | undefined): string {
  const wrong = () => `%!${verb}(${typeName(value)}=${printValue(value)})`;
  const signed = (text: string) => (flags.includes('+') && !text.startsWith('-') ? `+${text}` : text);
  switch (verb) {
    case 'v':
      return precision !== undefined && typeof value === 'string'
        ? value.slice(0, precision)
        : printValue(value);
    case 's':
      if (typeof value === 'number' || typeof value === 'boolean') return wrong();
      return precision === undefined ? stringOf(value) : [...stringOf(value)].slice(0, precision).join('');
    case 'q':
      return typeof value === 'number' ? `'${String.fromCodePoint(value)}'` : quoteGo(toText(value));
    case 'd':
      return isInteger(value) ? signed(String(value)) : wrong();
    case 'x':
    case 'X': {
      const hex = isInteger(value) ? value.toString(16) : Buffer.from(toText(value)).toString('hex');
      const prefixed = flags.includes('#') ? `0x${hex}` : hex;
      return verb === 'X' ? prefixed.toUpperCase() : prefixed;
    }
    case 'o':
      return isInteger(value) ? value.toString(8) : wrong();
    case 'b':
      return isInteger(value) ? value.toString(2) : wrong();
    case 'c':
      return isInteger(value) ? String.fromCodePoint(value) : wrong();
    case 't':
      return typeof value === 'boolean' ? String(value) : wrong();
    case 'f':
    case 'F':
      return typeof value === 'number' ? signed(value.toFixed(precision ?? 6)) : wrong();
    case 'e':
      return typeof value === 'number' ? signed(value.toExponential(precision ?? 6)) : wrong();
    case 'g':
      return typeof value === 'number' ? signed(printValue(value)) : wrong();
    case 'T':
      return typeName(value);
    default:
      return wrong();
  }
}

function stringOf(value: Value): string {
  return value === null || value === undefined ? '%!s(<nil>)' : printValue(value);
}

function isInteger(value: Value): value is number {
  return typeof value === 'number' && Number.isInteger(value);
}

function pad(text: string, columns: number, flags: string, isNumber: boolean): string {
  if (flags.includes('-')) return text.padEnd(columns);
  if (flags.includes('0') && isNumber) {
    const sign = /^[+-]/.exec(text)?.[0] ?? '';
    return sign + text.slice(sign.length).padStart(columns - sign.length, '0');
  }
  return text.padStart(columns);
}

/** A double-quoted Go string, as strconv.Quote and sprig's `quote` write it. */
export function quoteGo(text: string): string {
  const escapes: Record<string, string> = {
    '\x07': '\\a',
    '\b': '\\b',
    '\f': '\\f',
    '\n': '\\n',
    '\r': '\\r',
    '\t': '\\t',
    '\v': '\\v',
    '\\': '\\\\',
    '"': '\\"',
  };
  let quoted = '';
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const isControl = code < 0x20 || code === 0x7f;
    quoted += escapes[character] ?? (isControl ? `\\x${code.toString(16).padStart(2, '0')}` : character);
  }
  return `"${quoted}"`;
}
