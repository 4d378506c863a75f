/** One message of a syslog sender, of either kind. */
export interface SyslogMessage {
  /** 0 (emergency) to 7 (debug). */
  severity: number;
  facility: number;
  /** As the sender wrote it; undefined where it wrote none that can be understood. */
  time: Date | undefined;
  host: string | undefined;
  /** Program, without process id. */
  app: string | undefined;
  message: string;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const HIGHEST_PRIORITY = 191;
/** RFC 5424, 6: version 1, then time, host, program, process id, message id, structured data, message; "-" is nothing. */
const RFC5424 =
  /^1 (\S+) (\S+) (\S+) (\S+) (\S+) (-|(?:\[(?:[^\]"]|"(?:[^"\\]|\\.)*")*\])+)(?: ?([\s\S]*))?$/;
/** RFC 3164, 4.1.2: the time has no year; firmware often leaves time, host or both away. */
const RFC3164_TIME = /^([A-Z][a-z]{2}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (?:(\S+) )?/;
const RFC3164_TAG = /^([\w./-]{1,48})(?:\[\d*\])?: ?/;

/** Undefined if the bytes are no syslog message: they do not start with a priority. */
export function parseSyslog(datagram: Buffer, now: Date): SyslogMessage | undefined {
  const text = datagram.toString('utf8').replace(/[\r\n\0]+$/, '');
  const [start, digits] = /^<(\d{1,3})>/.exec(text) ?? [];
  const priority = Number(digits);
  if (start === undefined || priority > HIGHEST_PRIORITY) return undefined;
  const rest = text.slice(start.length);
  const origin = { severity: priority % 8, facility: priority >> 3 };
  return { ...origin, ...(parse5424(rest) ?? parse3164(rest, now)) };
}

type Parsed = Omit<SyslogMessage, 'severity' | 'facility'>;

function parse5424(text: string): Parsed | undefined {
  const [whole, time = '', host, app, , , , message = ''] = RFC5424.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const at = new Date(time);
  return {
    time: Number.isNaN(at.getTime()) ? undefined : at,
    host: present(host),
    app: present(app),
    message: message.replace(/^\uFEFF/, ''),
  };
}

function parse3164(text: string, now: Date): Parsed {
  const [header = '', month = '', day, hour, minute, second, host] = RFC3164_TIME.exec(text) ?? [];
  const body = text.slice(header.length);
  const [tag = '', app] = RFC3164_TAG.exec(body) ?? [];
  return {
    time: header
      ? recentTime(MONTHS.indexOf(month), [day, hour, minute, second].map(Number), now)
      : undefined,
    host,
    app,
    message: body.slice(tag.length),
  };
}

/** A time without a year, taken as UTC, is this year's, or last year's if that were more than a day ahead. */
function recentTime(
  month: number,
  [day = 1, hour = 0, minute = 0, second = 0]: number[],
  now: Date,
): Date | undefined {
  if (month < 0) return undefined;
  const inYear = (year: number) => new Date(Date.UTC(year, month, day, hour, minute, second));
  const year = now.getUTCFullYear();
  return inYear(year).getTime() > now.getTime() + 86_400_000 ? inYear(year - 1) : inYear(year);
}

function present(field: string | undefined): string | undefined {
  return field === '-' ? undefined : field;
}
