import { fail } from './errors.ts';
import { integer, type TemplateFunction, takes, takesTexts } from './signature.ts';
import { Int, Struct, type Value } from './values.ts';

const UNITS: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 6e10, h: 3.6e12 };

/** time.ParseDuration in nanoseconds; undefined for anything else. */
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
  return new Struct('time.Time', [['seconds', new Int(seconds, 'int64')]], {
    text: formatTime('2006-01-02 15:04:05 -0700 MST', seconds),
    methods: timeMethods(seconds),
  });
}

function timeMethods(seconds: bigint): Record<string, TemplateFunction> {
  const date = new Date(Number(seconds) * 1000);
  const number = (value: number) => takes('', () => new Int(value));
  const otherTime = (compare: (other: bigint) => Value) => takes('time', (time) => compare(secondsOf(time)));
  return {
    Format: takesTexts((layout) => formatTime(layout, seconds)),
    String: takes('', () => formatTime('2006-01-02 15:04:05 -0700 MST', seconds)),
    UTC: takes('', () => timeValue(seconds)),
    Year: number(date.getUTCFullYear()),
    Month: takes('', () => {
      const month = date.getUTCMonth();
      return new Int(month + 1, 'int', { type: 'time.Month', text: MONTHS[month] ?? '' });
    }),
    Day: number(date.getUTCDate()),
    YearDay: number(dayOfYear(date)),
    Weekday: takes('', () => {
      const day = date.getUTCDay();
      return new Int(day, 'int', { type: 'time.Weekday', text: DAYS[day] ?? '' });
    }),
    Hour: number(date.getUTCHours()),
    Minute: number(date.getUTCMinutes()),
    Second: number(date.getUTCSeconds()),
    Nanosecond: number(0),
    Unix: takes('', () => new Int(seconds, 'int64')),
    UnixMilli: takes('', () => new Int(seconds * 1000n, 'int64')),
    UnixMicro: takes('', () => new Int(seconds * 1_000_000n, 'int64')),
    UnixNano: takes('', () => new Int(seconds * 1_000_000_000n, 'int64')),
    IsZero: takes('', () => seconds === ZERO_TIME),
    AddDate: takes('int int int', (years, months, days) => {
      const moved = new Date(date);
      moved.setUTCFullYear(
        date.getUTCFullYear() + integer(years),
        date.getUTCMonth() + integer(months),
        date.getUTCDate() + integer(days),
      );
      return timeValue(BigInt(moved.getTime() / 1000));
    }),
    Before: otherTime((other) => seconds < other),
    After: otherTime((other) => seconds > other),
    Equal: otherTime((other) => seconds === other),
    Compare: otherTime((other) => new Int(seconds < other ? -1 : seconds > other ? 1 : 0)),
  };
}

function dayOfYear(date: Date): number {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 0);
  return Math.floor((date.getTime() - start.getTime()) / 86_400_000);
}

/** Time.Format, in UTC. */
function formatTime(layout: string, seconds: bigint): string {
  const date = new Date(Number(seconds) * 1000);
  const two = (value: number, fill = '0') => String(value).padStart(2, fill);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  const hour = date.getUTCHours();
  const twelve = hour % 12 === 0 ? 12 : hour % 12;
  const parts: Record<string, string> = {
    January: MONTHS[month] ?? '',
    Jan: (MONTHS[month] ?? '').slice(0, 3),
    Monday: DAYS[date.getUTCDay()] ?? '',
    Mon: (DAYS[date.getUTCDay()] ?? '').slice(0, 3),
    MST: 'UTC',
    2006: String(year).padStart(4, '0'),
    '06': two(year % 100),
    '01': two(month + 1),
    1: String(month + 1),
    '002': String(dayOfYear(date)).padStart(3, '0'),
    __2: String(dayOfYear(date)).padStart(3, ' '),
    '02': two(day),
    _2: two(day, ' '),
    2: String(day),
    15: two(hour),
    '03': two(twelve),
    3: String(twelve),
    '04': two(date.getUTCMinutes()),
    4: String(date.getUTCMinutes()),
    '05': two(date.getUTCSeconds()),
    5: String(date.getUTCSeconds()),
    PM: hour >= 12 ? 'PM' : 'AM',
    pm: hour >= 12 ? 'pm' : 'am',
  };
  return layout.replaceAll(LAYOUT_PARTS, (part) => {
    if (part === '_2006') return `_${parts[2006]}`;
    if (part.startsWith('Z07')) return 'Z';
    if (part.startsWith('-07')) return part.replace(/\d/g, '0').replace('-', '+');
    // Fractions: zeros are printed, nines only where there is something to print.
    if (/^[.,]/.test(part)) return part.includes('0') ? part : '';
    return parts[part] ?? part;
  });
}

/** Go's zero time is the first day of the year 1. */
export const ZERO_TIME = -62_135_596_800n;

/** The parts of a layout in the order in which Go looks for them at each place. */
const LAYOUT_PARTS =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|002|0[1-6]|15|1|_2006|__2|_2|2006|2|3|4|5|PM|pm|-07:00:00|-070000|-07:00|-0700|-07|Z07:00:00|Z070000|Z07:00|Z0700|Z07|[.,](?:0+|9+)(?!\d)/g;

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
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
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
  ['_2', String.raw` ?(?<day>\d\d|\d(?!\d))`],
  ['15', String.raw`(?<hour>\d\d)`],
  ['03', String.raw`(?<hour>\d\d)`],
  ['04', String.raw`(?<minute>\d\d)`],
  ['05', String.raw`(?<second>\d\d)(?:\.\d+)?`],
  ['06', String.raw`(?<shortYear>\d\d)`],
  ['PM', '(?<half>AM|PM)'],
  ['1', String.raw`(?<month>\d\d|\d(?!\d))`],
  ['2', String.raw`(?<day>\d\d|\d(?!\d))`],
  ['3', String.raw`(?<hour>\d\d|\d(?!\d))`],
  ['4', String.raw`(?<minute>\d\d|\d(?!\d))`],
  ['5', String.raw`(?<second>\d\d|\d(?!\d))`],
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
