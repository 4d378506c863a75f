import { KindlingError } from '../protocol/error.ts';

const SECONDS = { m: 60, h: 3600, d: 24 * 3600 } as const;

/** A time as people type it: 30d, 12h, 90m. */
export function secondsOf(text: string): number {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined) {
    throw new KindlingError('KND_USAGE', `a time is 30d, 12h or 90m, not ${text}`);
  }
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
}
