import { escapeRune, fromBytes, isPrintable, quoteGo, runeAt, toBytes } from '../../../formats/go-text.ts';
import { bytesOf, formatFloat, printValue } from './print.ts';
import { BoolPointer, GoMap, Int, List, NilPointer, Struct, typeName, type Value } from './values.ts';

interface Flags {
  sharp: boolean;
  zero: boolean;
  plus: boolean;
  minus: boolean;
  space: boolean;
  width: number | undefined;
  precision: number | undefined;
}

const DIRECTIVE =
  /%([-+# 0]*)(?:\[(\d+)\])?(\*|\d+)?(?:(\.)(?:\[(\d+)\])?(\*|\d+)?)?(?:\[(\d+)\])?([\s\S]?)/y;

/** Go's fmt.Sprintf over bytes, its complaints about wrong arguments included. */
export function sprintf(format: string, args: readonly Value[]): string {
  let text = '';
  let used = 0;
  let isReordered = false;
  let at = 0;
  const choose = (index: string | undefined): boolean => {
    if (index === undefined) return true;
    isReordered = true;
    const wanted = Number(index) - 1;
    if (wanted < 0 || wanted >= args.length) return false;
    used = wanted;
    return true;
  };
  const takeInteger = (complaint: string): number | undefined => {
    const value = args[used];
    if (used < args.length) used++;
    if (value instanceof Int && value.value >= -1_000_000n && value.value <= 1_000_000n)
      return Number(value.value);
    text += complaint;
    return undefined;
  };
  while (at < format.length) {
    const percent = format.indexOf('%', at);
    if (percent === -1) break;
    text += format.slice(at, percent);
    DIRECTIVE.lastIndex = percent;
    const found = DIRECTIVE.exec(format);
    if (!found) break;
    const [whole, marks = '', widthAt, width, dot, precisionAt, precision, valueAt, verbStart = ''] = found;
    const verb = verbStart && runeAt(format, percent + whole.length - 1);
    at = percent + whole.length - verbStart.length + verb.length;
    const flags: Flags = {
      sharp: marks.includes('#'),
      zero: marks.includes('0'),
      plus: marks.includes('+'),
      minus: marks.includes('-'),
      space: marks.includes(' '),
      width: undefined,
      precision: undefined,
    };
    let isGood = choose(widthAt);
    if (width === '*') {
      flags.width = takeInteger('%!(BADWIDTH)');
      if (flags.width !== undefined && flags.width < 0)
        Object.assign(flags, { width: -flags.width, minus: true, zero: false });
    } else if (width !== undefined) {
      flags.width = Number(width);
      if (widthAt !== undefined) isGood = false;
    }
    if (dot) {
      isGood = choose(precisionAt) && isGood;
      const given = precision === '*' ? takeInteger('%!(BADPREC)') : Number(precision ?? 0);
      if (given !== undefined && given < 0) text += '%!(BADPREC)';
      else flags.precision = given;
    }
    isGood = choose(valueAt) && isGood;
    if (!verb) text += '%!(NOVERB)';
    else if (verb === '%') text += '%';
    else if (!isGood) text += `%!${verb}(BADINDEX)`;
    else if (used >= args.length) text += `%!${verb}(MISSING)`;
    else text += formatArgument(verb, args[used++] ?? null, flags);
  }
  text += format.slice(at);
  if (isReordered || used >= args.length) return text;
  const extra = args.slice(used).map((value) => (value === null ? '<nil>' : described(value)));
  return `${text}%!(EXTRA ${extra.join(', ')})`;
}

function described(value: Value): string {
  return `${typeName(value)}=${printValue(value)}`;
}

/** The flags hold for the value in the complaint too. */
function badVerb(verb: string, value: Value, flags: Flags): string {
  return `%!${verb}(${value === null ? '<nil>' : `${typeName(value)}=${format('v', value, flags)}`})`;
}

function formatArgument(verb: string, value: Value, flags: Flags): string {
  if (value === null) return verb === 'v' || verb === 'T' ? pad('<nil>', flags) : badVerb(verb, null, flags);
  if (verb === 'T') return formatText('s', typeName(value), flags);
  if (verb !== 'v') return format(verb, value, flags);
  if (flags.sharp) return goSyntax(value);
  return format('v', value, { ...flags, plus: false }, flags.plus);
}

function format(verb: string, value: Value, flags: Flags, isPlusV = false): string {
  if (value === null) return '<nil>'; // inside a list or a map, whatever the verb
  if (typeof value === 'boolean')
    return verb === 't' || verb === 'v' ? pad(String(value), flags) : badVerb(verb, value, flags);
  if (typeof value === 'number') return formatNumber(verb, value, flags);
  if (value instanceof Int && value.named && 'vs'.includes(verb))
    return formatText(verb, value.named.text, flags);
  if (value instanceof Int) return formatInteger(verb, value, flags);
  if (typeof value === 'string') return formatText(verb, value, flags);
  const inner = (each: Value) => format(verb, each, flags, isPlusV);
  if (value instanceof List) {
    if (value.element === 'uint8' && 'sqxX'.includes(verb)) return formatText(verb, bytesOf(value), flags);
    return `[${value.items.map(inner).join(' ')}]`;
  }
  if (value instanceof GoMap)
    return `map[${value
      .sorted()
      .map(([key, each]) => `${inner(key)}:${inner(each)}`)
      .join(' ')}]`;
  if (value instanceof NilPointer) return verb === 'v' ? '<nil>' : badVerb(verb, value, flags);
  if (value instanceof BoolPointer) return inner(value.value);
  if (value.text !== undefined && 'vsxXq'.includes(verb)) return formatText(verb, value.text, flags);
  const fields = [...value.fields].map(([name, each]) => (isPlusV ? `${name}:` : '') + inner(each));
  return `${value.isPointer ? '&' : ''}{${fields.join(' ')}}`;
}

function pad(text: string, { width = 0, minus, zero }: Flags): string {
  const missing = width - [...fromBytes(text)].length;
  if (missing <= 0) return text;
  if (minus) return text + ' '.repeat(missing);
  return (zero ? '0' : ' ').repeat(missing) + text;
}

function formatText(verb: string, text: string, flags: Flags): string {
  const cut =
    flags.precision === undefined || verb === 'x' || verb === 'X'
      ? text
      : toBytes([...fromBytes(text)].slice(0, flags.precision).join(''));
  switch (verb) {
    case 'v':
    case 's':
      return pad(cut, flags);
    case 'q':
      if (flags.sharp && isBackquotable(cut)) return pad(`\`${cut}\``, flags);
      return pad(quoteGo(cut, flags.plus), flags);
    case 'x':
    case 'X': {
      const bytes = [...text.slice(0, flags.precision)].map((byte) =>
        byte.charCodeAt(0).toString(16).padStart(2, '0'),
      );
      const prefix = flags.sharp && bytes.length > 0 ? '0x' : '';
      const hex = flags.space ? bytes.map((byte) => prefix + byte).join(' ') : prefix + bytes.join('');
      return pad(verb === 'X' ? hex.toUpperCase() : hex, { ...flags, zero: flags.zero && !flags.minus });
    }
    default:
      return badVerb(verb, text, flags);
  }
}

/** strconv.CanBackquote: neither a backquote nor control characters but the tab. */
function isBackquotable(bytes: string): boolean {
  return [...bytes].every((byte) => byte === '\t' || (byte >= ' ' && byte !== '`' && byte !== '\x7f'));
}

const BASES: Record<string, number> = { v: 10, d: 10, b: 2, o: 8, O: 8, x: 16, X: 16 };

function formatInteger(verb: string, int: Int, flags: Flags): string {
  const { value } = int;
  const base = BASES[verb];
  if (base === undefined) return formatRune(verb, int, flags);
  const isNegative = value < 0n;
  let digits = (isNegative ? -value : value).toString(base);
  const spaces = { ...flags, zero: false };
  if (flags.precision === 0 && value === 0n) return pad('', spaces);
  const hasSign = isNegative || flags.plus || flags.space;
  if (flags.precision !== undefined) digits = digits.padStart(flags.precision, '0');
  else if (flags.zero && !flags.minus && flags.width !== undefined)
    digits = digits.padStart(flags.width - (hasSign ? 1 : 0), '0');
  if (flags.sharp && base === 2) digits = `0b${digits}`;
  if (flags.sharp && base === 8 && !digits.startsWith('0')) digits = `0${digits}`;
  if (flags.sharp && base === 16) digits = `0x${digits}`;
  if (verb === 'O') digits = `0o${digits}`;
  if (verb === 'X') digits = digits.toUpperCase();
  const sign = isNegative ? '-' : flags.plus ? '+' : flags.space ? ' ' : '';
  return pad(sign + digits, spaces);
}

function formatRune(verb: string, int: Int, flags: Flags): string {
  const { value } = int;
  const isRune = value >= 0n && value <= 0x10ffffn && !(value >= 0xd800n && value <= 0xdfffn);
  const rune = isRune ? String.fromCodePoint(Number(value)) : '\uFFFD';
  switch (verb) {
    case 'c':
      return pad(toBytes(rune), flags);
    case 'q':
      return pad(`'${escapeRune(rune, "'", flags.plus)}'`, flags);
    case 'U': {
      const hex = `U+${BigInt.asUintN(64, value)
        .toString(16)
        .toUpperCase()
        .padStart(flags.precision ?? 4, '0')}`;
      return pad(flags.sharp && isRune && isPrintable(rune) ? `${hex} '${toBytes(rune)}'` : hex, {
        ...flags,
        zero: false,
      });
    }
    default:
      return badVerb(verb, int, flags);
  }
}

function formatNumber(verb: string, value: number, flags: Flags): string {
  const kind = verb.toLowerCase();
  if (!['v', 'e', 'f', 'g', 'x', 'b'].includes(kind) || 'VB'.includes(verb))
    return badVerb(verb, value, flags);
  const fallback = kind === 'e' || kind === 'f' ? 6 : -1;
  const precision = flags.precision ?? fallback;
  let text = formatFloat(value, kind === 'v' ? 'g' : kind, precision);
  if ('EGX'.includes(verb)) text = text.toUpperCase();
  const isNumber = Number.isFinite(value);
  let sign = /^[+-]/.exec(text)?.[0] ?? '+';
  let digits = text.replace(/^[+-]/, '');
  if (isNumber && flags.sharp && kind !== 'b') digits = withPoint(digits, kind, precision);
  if (sign === '+') sign = flags.plus ? '+' : flags.space ? ' ' : text === '+Inf' ? '+' : '';
  if (isNumber && flags.zero && !flags.minus && flags.width !== undefined)
    digits = digits.padStart(flags.width - sign.length, '0');
  return pad(sign + digits, { ...flags, zero: false });
}

/** The flag # keeps the point, and the zeros of %g. */
function withPoint(text: string, kind: string, precision: number): string {
  const [mantissa = '', tail = ''] = text.split(/(?=[eE])/);
  const wanted = kind === 'g' || kind === 'v' ? (precision === -1 ? 6 : precision) : 0;
  const significant = mantissa.replace('.', '').replace(/^0+/, '').length || (mantissa === '0' ? 1 : 0);
  const pointed = mantissa.includes('.') ? mantissa : `${mantissa}.`;
  return pointed + '0'.repeat(Math.max(wanted - significant, 0)) + tail;
}

/** %#v. */
function goSyntax(value: Value): string {
  if (value === null) return 'interface {}(nil)';
  if (typeof value === 'string') return quoteGo(value);
  if (typeof value === 'number') return formatFloat(value, 'g', -1);
  if (value instanceof Int)
    return value.type.startsWith('u') ? `0x${value.value.toString(16)}` : String(value.value);
  if (value instanceof List)
    return `${typeName(value).replace('uint8', 'byte')}{${value.items.map(goSyntax).join(', ')}}`;
  if (value instanceof GoMap)
    return `${typeName(value)}{${value
      .sorted()
      .map(([key, each]) => `${quoteGo(key)}:${goSyntax(each)}`)
      .join(', ')}}`;
  if (value instanceof NilPointer) return `(*${value.to})(nil)`;
  if (value instanceof Struct)
    return `${value.isPointer ? '&' : ''}${value.name}{${[...value.fields]
      .map(([name, each]) => `${name}:${goSyntax(each)}`)
      .join(', ')}}`;
  return printValue(value);
}
