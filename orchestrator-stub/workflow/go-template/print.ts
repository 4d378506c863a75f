import { BoolPointer, GoMap, Int, List, NilPointer, type Value } from './values.ts';

/** As Go's `%v` prints it. */
export function printValue(value: Value): string {
  if (value === null) return '<nil>';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatFloat(value, 'g', -1);
  if (typeof value === 'boolean') return String(value);
  if (value instanceof Int) return value.named?.text ?? String(value.value);
  if (value instanceof List) return `[${value.items.map(printValue).join(' ')}]`;
  if (value instanceof GoMap) {
    const entries = value.sorted().map(([key, each]) => `${key}:${printValue(each)}`);
    return `map[${entries.join(' ')}]`;
  }
  if (value instanceof NilPointer) return '<nil>';
  if (value instanceof BoolPointer) return String(value.value);
  if (value.text !== undefined) return value.text;
  return `${value.isPointer ? '&' : ''}{${[...value.fields.values()].map(printValue).join(' ')}}`;
}

/** sprig's strval: bytes as a text, everything else as `%v`. */
export function strval(value: Value): string {
  return value instanceof List && value.element === 'uint8' ? bytesOf(value) : printValue(value);
}

export function bytesOf(list: List): string {
  return list.items.map((item) => String.fromCharCode(item instanceof Int ? Number(item.value) : 0)).join('');
}

/** fmt.Sprint: a space between two operands where neither is a text. */
export function sprint(args: readonly Value[]): string {
  let text = '';
  for (const [at, value] of args.entries()) {
    if (at > 0 && typeof value !== 'string' && typeof args[at - 1] !== 'string') text += ' ';
    text += printValue(value);
  }
  return text;
}

/** strconv.FormatFloat for the formats e, f and g; precision -1 is the shortest that reads back. */
export function formatFloat(value: number, format: string, precision: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (format === 'f') return fixed(value, precision);
  if (format === 'e') return exponential(value, precision);
  if (format === 'x' || format === 'b') return binaryFloat(value, format);
  const isShortest = precision < 0;
  const wanted = precision === 0 ? 1 : precision;
  const [mantissa = '', power = '0'] = (
    isShortest ? value.toExponential() : value.toExponential(Math.min(wanted - 1, 100))
  ).split('e');
  const exponent = Number(power);
  const digits = Math.max(mantissa.replace(/[-.]/g, '').replace(/0+$/, '').length, 1);
  const limit = isShortest ? 6 : wanted > digits && digits >= exponent + 1 ? digits : wanted;
  // The digits that were asked for are those that are left when zeros at the end are gone.
  if (exponent < -4 || exponent >= limit) return exponential(value, digits - 1);
  return fixed(value, Math.max(digits - exponent - 1, 0));
}

function exponential(value: number, precision: number): string {
  const text = precision < 0 ? value.toExponential() : value.toExponential(Math.min(precision, 100));
  return signOfZero(value) + text.replace(/e([+-])(\d)$/, 'e$10$2');
}

function fixed(value: number, precision: number): string {
  if (precision >= 0 && Math.abs(value) < 1e21)
    return signOfZero(value) + value.toFixed(Math.min(precision, 100));
  // toString goes over to exponents at 1e21, toFixed too.
  const [mantissa = '', power = '0'] = value.toExponential().split('e');
  const sign = mantissa.startsWith('-') ? '-' : signOfZero(value);
  const digits = mantissa.replace(/[-.]/g, '');
  const point = Number(power) + 1;
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0';
  const fraction = point > 0 ? digits.slice(point) : '0'.repeat(-point) + digits;
  const cut =
    precision < 0 ? fraction.replace(/^0+$/, '') : fraction.padEnd(precision, '0').slice(0, precision);
  return sign + whole + (cut ? `.${cut}` : '');
}

function signOfZero(value: number): string {
  return Object.is(value, -0) ? '-' : '';
}

/** %b and %x: the bits of the number with a power of two. */
function binaryFloat(value: number, format: 'x' | 'b'): string {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, Math.abs(value));
  const all = bits.getBigUint64(0);
  const exponent = Number(all >> 52n);
  const fraction = all & (2n ** 52n - 1n);
  const mantissa = exponent === 0 ? fraction : fraction | (1n << 52n);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const signed = (power: number, width: number) =>
    `p${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(width, '0')}`;
  if (format === 'b') return `${sign}${mantissa}${signed(Math.max(exponent, 1) - 1075, 1)}`;
  if (value === 0) return `${sign}0x0p+00`;
  const shift = 53 - mantissa.toString(2).length;
  const digits = ((mantissa << BigInt(shift)) & (2n ** 52n - 1n))
    .toString(16)
    .padStart(13, '0')
    .replace(/0+$/, '');
  return `${sign}0x1${digits && `.${digits}`}${signed(Math.max(exponent, 1) - 1023 - shift, 2)}`;
}
