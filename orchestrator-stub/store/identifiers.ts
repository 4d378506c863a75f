import { randomBytes } from 'node:crypto';
import type { HostId } from '../../protocol/ids.ts';

/** A resource id as EMF writes them: `host-1a2b3c4d`. */
export function resourceId(kind: 'inst'): string;
export function resourceId(kind: 'host'): HostId;
export function resourceId(kind: 'host' | 'inst'): string {
  return `${kind}-${randomBytes(4).toString('hex')}`;
}

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARACTERS = 10;
const RANDOM_CHARACTERS = 16;

/** A ULID: 48 bits of time and 80 random bits in Crockford's base 32; sorts by time. */
export function ulid(now: number): string {
  let time = '';
  for (let rest = now, i = 0; i < TIME_CHARACTERS; i++, rest = Math.floor(rest / 32)) {
    time = CROCKFORD.charAt(rest % 32) + time;
  }
  let random = '';
  for (const byte of randomBytes(RANDOM_CHARACTERS)) random += CROCKFORD.charAt(byte % 32);
  return time + random;
}
