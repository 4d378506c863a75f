import type { Stats } from 'node:fs';

export type RangeDecision =
  | { kind: 'whole' | 'part'; start: number; end: number }
  | { kind: 'unsatisfiable' };

/** Which bytes to send (RFC 9110, 14). Several ranges at once are answered with the whole file, which is allowed. */
export function decideRange(
  range: string | undefined,
  ifRange: string | undefined,
  etag: string,
  { size, mtime }: Pick<Stats, 'size' | 'mtime'>,
): RangeDecision {
  const whole = { kind: 'whole' as const, start: 0, end: size - 1 };
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(range ?? '') ?? [];
  if (first === '' && last === '') return whole;
  const isStale = ifRange !== undefined && ifRange !== etag && ifRange !== mtime.toUTCString();
  if (isStale) return whole;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? { kind: 'unsatisfiable' } : { kind: 'part', start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return whole;
  return start >= size ? { kind: 'unsatisfiable' } : { kind: 'part', start, end };
}
