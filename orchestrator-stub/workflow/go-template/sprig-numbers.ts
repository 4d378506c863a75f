import { randomInt } from 'node:crypto';
import { fail } from './errors.ts';
import { printValue } from './print.ts';
import { integer, type TemplateFunction, takes, text } from './signature.ts';
import { Int, List, type Value } from './values.ts';

const MAX_STEPS = 1_000_000;
const MIN_INT64 = -(2n ** 63n);

/** cast.ToInt64: what is no number is 0. */
export function toInt64(value: Value): bigint {
  if (value instanceof Int) return BigInt.asIntN(64, value.value);
  if (typeof value === 'number') return floatToInt(value);
  if (typeof value === 'boolean') return value ? 1n : 0n;
  return typeof value === 'string' ? (parseInteger(withoutZeroDecimal(value)) ?? 0n) : 0n;
}

/** What amd64 makes of a float64 that no int64 can hold. */
function floatToInt(value: number): bigint {
  if (!Number.isFinite(value) || Math.abs(value) >= 2 ** 63) return MIN_INT64;
  return BigInt(Math.trunc(value));
}

/** "5.00" is 5. */
function withoutZeroDecimal(digits: string): string {
  return digits.replace(/\.0+$/, '');
}

/** strconv.ParseInt with base 0; undefined for anything else, or if it does not fit. */
function parseInteger(digits: string): bigint | undefined {
  const [, sign = '', body = ''] = /^([-+]?)(.*)$/s.exec(digits) ?? [];
  const isPlain = /^(0[xX](_?[0-9a-fA-F])+|0[bB](_?[01])+|0[oO]?(_?[0-7])+|0|[1-9](_?[0-9])*)$/.test(body);
  if (!isPlain) return undefined;
  const plain = body.replaceAll('_', '').replace(/^0([0-7])/, '0o$1');
  const value = BigInt(plain) * (sign === '-' ? -1n : 1n);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** cast.ToFloat64. */
function toFloat(value: Value): number {
  if (value instanceof Int) return Number(value.value);
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'string' ? parseFloat64(value) : 0;
}

function parseFloat64(digits: string): number {
  if (/^[-+]?(inf|infinity)$/i.test(digits)) return digits.startsWith('-') ? -Infinity : Infinity;
  if (/^nan$/i.test(digits)) return Number.NaN;
  if (!/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(digits)) return 0;
  const value = Number(digits);
  return Number.isFinite(value) ? value : 0;
}

const int64 = (value: bigint) => new Int(value, 'int64');

function reduceIntegers(call: (a: bigint, b: bigint) => bigint): TemplateFunction {
  return takes('any ...any', (first = null, ...others) =>
    int64(others.map(toInt64).reduce((a, b) => BigInt.asIntN(64, call(a, b)), toInt64(first))),
  );
}

function divide(a: Value, b: Value, call: (x: bigint, y: bigint) => bigint): Int {
  if (toInt64(b) === 0n) fail('runtime error: integer divide by zero');
  return int64(call(toInt64(a), toInt64(b)));
}

/** Float functions compute in decimals there, so that 0.1 + 0.2 is 0.3. */
function reduceDecimals(call: (a: Decimal, b: Decimal) => Decimal, types = 'any ...any'): TemplateFunction {
  return takes(types, (...args) => {
    const [first = 0, ...others] = types === '...any' ? [0, ...args] : args;
    return decimalToNumber(
      others.map((each) => decimal(toFloat(each))).reduce(call, decimal(toFloat(first))),
    );
  });
}

interface Decimal {
  digits: bigint;
  exponent: number;
}

function decimal(value: number): Decimal {
  if (!Number.isFinite(value)) fail(`Cannot create a Decimal from ${printValue(value)}`);
  const [mantissa = '0', power = '0'] = value.toExponential().split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}

function decimalToNumber({ digits, exponent }: Decimal): number {
  return Number(`${digits}e${exponent}`);
}

function addDecimals(a: Decimal, b: Decimal): Decimal {
  const exponent = Math.min(a.exponent, b.exponent);
  const scale = ({ digits, exponent: own }: Decimal) => digits * 10n ** BigInt(own - exponent);
  return { digits: scale(a) + scale(b), exponent };
}

/** Sixteen places after the point, rounded half away from zero. */
function divideDecimals(a: Decimal, b: Decimal): Decimal {
  if (b.digits === 0n) fail('decimal division by 0');
  const shift = a.exponent - b.exponent + 17;
  const scaled = shift >= 0 ? a.digits * 10n ** BigInt(shift) : a.digits / 10n ** BigInt(-shift);
  const quotient = scaled / b.digits;
  const rounded = (quotient + (quotient < 0n ? -5n : 5n)) / 10n;
  return { digits: rounded, exponent: -16 };
}

function extreme(choose: (a: number, b: number) => number): TemplateFunction {
  return takes('any ...any', (first = null, ...others) => others.map(toFloat).reduce(choose, toFloat(first)));
}

function steps(start: number, stop: number, step: number): List {
  const found: Int[] = [];
  const isDown = stop < start;
  if (isDown ? step < 0 : step > 0) {
    if (Math.abs((stop - start) / step) > MAX_STEPS) fail('too many steps');
    for (let at = start; isDown ? at > stop : at < stop; at += step) found.push(new Int(at));
  }
  return new List(found, 'int');
}

function sequence(args: readonly number[]): string {
  const shown = (all: List) => all.items.map(printValue).join(' ');
  const [first = 0, second = 0, third = 0] = args;
  if (args.length === 1) {
    const step = first < 1 ? -1 : 1;
    return shown(steps(1, first + step, step));
  }
  if (args.length === 2) {
    const step = second < first ? -1 : 1;
    return shown(steps(first, second + step, step));
  }
  if (args.length !== 3) return '';
  if (third < first) return second > 0 ? '' : shown(steps(first, third - 1, second));
  return shown(steps(first, third + 1, second));
}

function round(value: number, places: number, on: number): number {
  const power = 10 ** places;
  const digit = power * value;
  const rest = digit - Math.trunc(digit);
  return (rest >= on ? Math.ceil(digit) : Math.floor(digit)) / power;
}

const maximum = reduceIntegers((a, b) => (b > a ? b : a));

export const NUMBER_FUNCTIONS: Record<string, TemplateFunction> = {
  add: takes('...any', (...args) => int64(args.reduce<bigint>((sum, value) => sum + toInt64(value), 0n))),
  add1: takes('any', (value = null) => int64(toInt64(value) + 1n)),
  sub: takes('any any', (a = null, b = null) => int64(toInt64(a) - toInt64(b))),
  mul: reduceIntegers((a, b) => a * b),
  div: takes('any any', (a = null, b = null) => divide(a, b, (x, y) => x / y)),
  mod: takes('any any', (a = null, b = null) => divide(a, b, (x, y) => x % y)),
  max: maximum,
  biggest: maximum,
  min: reduceIntegers((a, b) => (b < a ? b : a)),
  addf: reduceDecimals(addDecimals, '...any'),
  add1f: takes('any', (value = null) => decimalToNumber(addDecimals(decimal(toFloat(value)), decimal(1)))),
  subf: reduceDecimals((a, b) => addDecimals(a, { ...b, digits: -b.digits })),
  mulf: reduceDecimals((a, b) => ({ digits: a.digits * b.digits, exponent: a.exponent + b.exponent })),
  divf: reduceDecimals(divideDecimals),
  maxf: extreme((a, b) => Math.max(a, b)),
  minf: extreme((a, b) => Math.min(a, b)),
  ceil: takes('any', (value = null) => Math.ceil(toFloat(value))),
  floor: takes('any', (value = null) => Math.floor(toFloat(value))),
  round: takes('any int ...float64', (value = null, places, on) =>
    round(toFloat(value), integer(places), typeof on === 'number' ? on : 0.5),
  ),
  int: takes('any', (value = null) => new Int(toInt64(value))),
  int64: takes('any', (value = null) => int64(toInt64(value))),
  float64: takes('any', (value = null) => toFloat(value)),
  atoi: takes(
    'string',
    (value) => new Int(/^[-+]?\d+$/.test(text(value)) ? clampInt64(BigInt(text(value).replace('+', ''))) : 0),
  ),
  toDecimal: takes('any', (value = null) => int64(parseOctal(printValue(value)))),
  seq: takes('...int', (...args) => sequence(args.map(integer))),
  until: takes('int', (count) => steps(0, integer(count), integer(count) < 0 ? -1 : 1)),
  untilStep: takes('int int int', (start, stop, step) => steps(integer(start), integer(stop), integer(step))),
  randInt: takes('int int', (low, high) => {
    if (integer(high) <= integer(low)) fail('invalid argument to Intn');
    return new Int(randomInt(integer(low), integer(high)));
  }),
};

/** strconv.Atoi gives the nearest number that fits, with an error that sprig drops. */
function clampInt64(value: bigint): bigint {
  if (value > -MIN_INT64 - 1n) return -MIN_INT64 - 1n;
  return value < MIN_INT64 ? MIN_INT64 : value;
}

function parseOctal(digits: string): bigint {
  const [, sign = '', body = ''] = /^([-+]?)([0-7]+)$/.exec(digits) ?? [];
  if (!body) return 0n;
  const value = BigInt(`0o${body}`) * (sign === '-' ? -1n : 1n);
  return BigInt.asIntN(64, value) === value ? value : 0n;
}
