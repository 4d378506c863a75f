import { fail } from './errors.ts';
import { Int, Struct, type Value } from './values.ts';

const UNITS: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 6e10, h: 3.6e12 };

/** time.ParseDuration in nanoseconds; undefined for what is none. */
export function parseDuration(text: string): bigint | undefined {
  const [, sign = '', body = ''] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  if (body === '0') return 0n;
  if (!/^((\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))+$/.test(body)) return undefined;
  let sum = 0n;
  for (const [, number = '0', unit = 's'] of body.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)/g)) {
    const [whole = '0', fraction = ''] = number.split('.');
    const scale = BigInt(UNITS[unit] ?? 1);
    sum += BigInt(whole || '0') * scale + (BigInt(fraction || '0') * scale) / 10n ** BigInt(fraction.length);
  }
  return sign === '-' ? -sum : sum;
}

/** Duration.String of whole seconds. */
export function durationText(seconds: bigint): string {
  if (seconds === 0n) return '0s';
  const all = seconds < 0n ? -seconds : seconds;
  const [hours, minutes, rest] = [all / 3600n, (all / 60n) % 60n, all % 60n];
  const text = `${hours > 0n ? `${hours}h` : ''}${hours > 0n || minutes > 0n ? `${minutes}m` : ''}${rest}s`;
  return (seconds < 0n ? '-' : '') + text;
}

const SCALES: [string, bigint][] = [
  ['y', 365n * 24n * 3600n],
  ['mo', 30n * 24n * 3600n],
  ['d', 24n * 3600n],
  ['h', 3600n],
  ['m', 60n],
  ['s', 1n],
];

export function roundedDuration(nanoseconds: bigint): string {
  const all = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  for (const [unit, seconds] of SCALES) {
    const size = seconds * 1_000_000_000n;
    if (all > size) return `${all / size}${unit}`;
  }
  return '0s';
}

/** A time.Time in UTC; only whole seconds are of interest to templates. */
export function timeValue(seconds: bigint): Struct {
  const iso = new Date(Number(seconds) * 1000).toISOString();
  return new Struct('time.Time', [['seconds', new Int(seconds, 'int64')]], {
    text: `${iso.slice(0, 10)} ${iso.slice(11, 19)} +0000 UTC`,
  });
}

export function secondsOf(value: Value | undefined): bigint {
  const seconds = value instanceof Struct ? value.fields.get('seconds') : undefined;
  return seconds instanceof Int ? seconds.value : fail('not a time');
}

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
/** The parts of Go's layouts, the longer ones first. */
const LAYOUT: [string, string][] = [
  ['2006', String.raw`(?<year>\d{4})`],
  ['January', `(?<monthName>${MONTHS.join('|')})`],
  ['Jan', `(?<monthName>${MONTHS.map((name) => name.slice(0, 3)).join('|')})`],
  ['Monday', '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day'],
  ['Mon', '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'],
  ['Z07:00', String.raw`(?<zone>Z|[-+]\d\d:\d\d)`],
  ['-07:00', String.raw`(?<zone>[-+]\d\d:\d\d)`],
  ['-0700', String.raw`(?<zone>[-+]\d{4})`],
  ['MST', '(?<zoneName>UTC|GMT)'],
  ['01', String.raw`(?<month>\d\d)`],
  ['02', String.raw`(?<day>\d\d)`],
  ['_2', String.raw` ?(?<day>\d{1,2})`],
  ['15', String.raw`(?<hour>\d\d)`],
  ['03', String.raw`(?<hour>\d\d)`],
  ['04', String.raw`(?<minute>\d\d)`],
  ['05', String.raw`(?<second>\d\d)(?:\.\d+)?`],
  ['06', String.raw`(?<shortYear>\d\d)`],
  ['PM', '(?<half>AM|PM)'],
  ['1', String.raw`(?<month>\d{1,2})`],
  ['2', String.raw`(?<day>\d{1,2})`],
  ['3', String.raw`(?<hour>\d{1,2})`],
  ['4', String.raw`(?<minute>\d{1,2})`],
  ['5', String.raw`(?<second>\d{1,2})`],
];

/** time.Parse in UTC, in seconds since 1970; undefined where the text does not fit the layout. */
export function parseTime(layout: string, text: string): bigint | undefined {
  const pattern = new RegExp(LAYOUT.map(([part]) => part.replace(/[+.]/g, '\\$&')).join('|'), 'g');
  let source = '';
  let at = 0;
  for (const part of layout.matchAll(pattern)) {
    source += quoted(layout.slice(at, part.index)) + (LAYOUT.find(([known]) => known === part[0])?.[1] ?? '');
    at = part.index + part[0].length;
  }
  const names = [...source.matchAll(/\(\?<(\w+)>/g)].map(([, name = '']) => name);
  const unnamed = source.replaceAll(/\(\?<\w+>/g, '(');
  const found = new RegExp(`^${unnamed}${quoted(layout.slice(at))}$`).exec(text);
  if (!found) return undefined;
  // A layout may name a part twice; the last one counts.
  const groups: Record<string, string | undefined> = Object.fromEntries(
    names.map((name, index) => [name, found[index + 1]]),
  );
  const number = (name: string, fallback: number) => Number(groups[name] ?? fallback);
  const month = groups['monthName']
    ? MONTHS.findIndex((name) => name.startsWith(groups['monthName'] ?? '')) + 1
    : number('month', 1);
  const shortYear = groups['shortYear'] === undefined ? undefined : Number(groups['shortYear']);
  const year = shortYear === undefined ? number('year', 0) : shortYear + (shortYear >= 69 ? 1900 : 2000);
  const hour = groups['half']
    ? (number('hour', 0) % 12) + (groups['half'] === 'PM' ? 12 : 0)
    : number('hour', 0);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, number('day', 1));
  if (date.getUTCMonth() !== month - 1 || hour > 23 || number('minute', 0) > 59 || number('second', 0) > 59)
    return undefined;
  date.setUTCHours(hour, number('minute', 0), number('second', 0));
  const [, sign = '+', hours = '0', minutes = '0'] =
    /^([-+])(\d\d):?(\d\d)$/.exec(groups['zone'] ?? '') ?? [];
  const offset = (Number(hours) * 60 + Number(minutes)) * 60 * (sign === '-' ? -1 : 1);
  return BigInt(date.getTime() / 1000 - offset);
}

function quoted(text: string): string {
  return text.replaceAll(/[\\.+*?()|[\]{}^$/]/g, '\\$&');
}
