import type { ProxySettings } from '../../../net/proxy.ts';
import { KindlingError } from '../../../protocol/error.ts';
import type { MachineFiles } from '../../../system/machine-files.ts';
import type { Run } from '../../../system/run.ts';
import type { View } from '../../console/view.ts';
import { askHttpDate } from './http-date.ts';
import { askTime } from './sntp.ts';

/** The clock and its outside sources; tests pass their own. */
export interface ClockContext {
  files: MachineFiles;
  view: View;
  now: () => number;
  /** Sets the system time (not the real-time clock: its battery and its owner may disagree with us). */
  set: (milliseconds: number) => Promise<void>;
  /** When this agent was built, in milliseconds since 1970: no true time is earlier. */
  floor: number;
}

export function systemClock(run: Run): Pick<ClockContext, 'now' | 'set'> {
  return {
    now: () => Date.now(),
    set: async (milliseconds) => {
      await run('date', ['-u', '-s', `@${Math.round(milliseconds / 1000)}`]);
    },
  };
}

/** Below this a clock is as good as right: certificates and tokens are not that exact. */
const TOLERANCE_MS = 2000;
/** No Micro-OS is in use for longer than this: who says a later time lies. */
const LATEST_MS = 10 * 365 * 86_400_000;
/** From here on a person should know. */
const WRONG_MS = 60_000;

/** Before there is a network: the kernel's time, else the real-time clock, never below the build time. */
export async function setClockFromMachine({ files, view, now, set, floor }: ClockContext): Promise<void> {
  if (now() >= floor) return;
  const rtc = (files.number('/sys/class/rtc/rtc0/since_epoch') ?? 0) * 1000;
  const time = Math.max(rtc, floor);
  const before = now();
  await set(time);
  view.notice(
    'clock',
    new KindlingError(
      'KND_CLOCK_WRONG',
      `the clock says ${day(before)}, before this Micro-OS was built; set to ${time === rtc ? 'the real-time clock' : 'the build time'}, ${day(time)}`,
    ),
  );
}

export interface TimeSources {
  ntpServers: readonly string[];
  /** The orchestrator's address, for its Date header. */
  url: string | undefined;
  proxies?: ProxySettings;
  ask?: { ntp: typeof askTime; http: typeof askHttpDate };
}

/** With a network: the first time server that answers, else the orchestrator's Date. Never below the build time, nor ten years after. */
export async function setClockFromNetwork(
  context: ClockContext,
  sources: TimeSources,
): Promise<string | undefined> {
  const { view, now, set, floor } = context;
  const found = await askAll(sources, floor);
  if (!found) {
    const asked = [...sources.ntpServers, ...(sources.url ? [sources.url] : [])];
    view.line(
      'clock',
      asked.length > 0
        ? `no time from ${asked.join(', ')}; keeping ${stamp(now())}`
        : `no time source; keeping ${stamp(now())}`,
    );
    return undefined;
  }
  const offset = found.time - now();
  if (Math.abs(offset) > TOLERANCE_MS) await set(found.time);
  const how = offset > 0 ? 'behind' : 'ahead';
  if (Math.abs(offset) > WRONG_MS) {
    view.notice(
      'clock',
      new KindlingError(
        'KND_CLOCK_WRONG',
        `the clock was ${describeSpan(Math.abs(offset))} ${how}; set from ${found.source}`,
      ),
    );
  }
  view.line('clock', `${stamp(now())} from ${found.source}`);
  return found.source;
}

async function askAll(
  { ntpServers, url, proxies, ask = { ntp: askTime, http: askHttpDate } }: TimeSources,
  floor: number,
): Promise<{ time: number; source: string } | undefined> {
  const plausible = (source: string) => (time: number) => {
    if (time < floor) throw new Error(`${source} is behind the build time`);
    if (time > floor + LATEST_MS) throw new Error(`${source} is far ahead of the build time`);
    return { time, source };
  };
  const byNtp = ntpServers.map((server) => ask.ntp(server, 3000).then(plausible(`NTP server ${server}`)));
  const fromNtp = await Promise.any(byNtp).catch(() => undefined);
  if (fromNtp || !url) return fromNtp;
  return ask
    .http(url, 5000, proxies)
    .then(plausible(`HTTP date of ${new URL(url).host}`))
    .catch(() => undefined);
}

function stamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z');
}

function day(milliseconds: number): string {
  return stamp(milliseconds).slice(0, 10);
}

function describeSpan(milliseconds: number): string {
  const units: [string, number][] = [
    ['days', 86_400_000],
    ['hours', 3_600_000],
    ['minutes', 60_000],
  ];
  const [unit, size] = units.find(([, length]) => milliseconds >= 2 * length) ?? ['seconds', 1000];
  return `${Math.round(milliseconds / size)} ${unit}`;
}
