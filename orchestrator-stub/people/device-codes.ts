import { randomBytes, randomInt } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';

/** RFC 8628, 6.1: letters that are not taken for one another, and make no words. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const LETTER_COUNT = 8;
/** RFC 8628, 3.2: expires_in and interval. */
export const EXPIRES_SECONDS = 600;
export const INTERVAL_SECONDS = 2;
/** One more from an address pushes out its own oldest; one more in all pushes out the oldest of all. */
const MOST_PER_ADDRESS = 10;
const MOST = 1000;

/** A token that a person gave to the program that shows their code. */
export interface DeviceGrant {
  token: string;
  person: string;
  expiresAt: string;
}

interface Waiting {
  userCode: string;
  deviceCode: string;
  address: string;
  askedAt: Date;
  grant?: DeviceGrant;
}

/**
 * Programs that wait to be signed in by a person who is signed in elsewhere, as in RFC 8628: the program shows a short code, and polls
 * with a long one. Kept in memory: after a restart the program asks again.
 */
export class DeviceCodes {
  /** By the long code, the oldest first. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  start(address: string): { deviceCode: string; userCode: string } {
    const all = [...this.#waiting.values()];
    for (const each of all) if (!this.#isFresh(each)) this.#waiting.delete(each.deviceCode);
    const own = all.filter((each) => each.address === address);
    const oldest = own.length >= MOST_PER_ADDRESS ? own[0] : this.#waiting.size >= MOST ? all[0] : undefined;
    if (oldest) this.#waiting.delete(oldest.deviceCode);
    const waiting = {
      deviceCode: randomBytes(32).toString('base64url'),
      userCode: Array.from({ length: LETTER_COUNT }, () => LETTERS[randomInt(LETTERS.length)]).join(''),
      address,
      askedAt: this.#now(),
    };
    this.#waiting.set(waiting.deviceCode, waiting);
    return waiting;
  }

  /** The program that shows this code. */
  find(userCode: string): Readonly<Waiting> {
    const typed = userCode.toUpperCase().replaceAll(/[^A-Z]/g, '');
    const found = [...this.#waiting.values()].find((each) => each.userCode === typed);
    if (found && !found.grant && this.#isFresh(found)) return found;
    throw new KindlingError('KND_DEVICE_CODE', `no program waits with the code ${userCode}`);
  }

  grant(waiting: Readonly<Waiting>, grant: DeviceGrant): void {
    this.#waiting.set(waiting.deviceCode, { ...waiting, grant });
  }

  /** What the program was given, once; undefined while nobody has typed its code. */
  poll(deviceCode: string): DeviceGrant | undefined {
    const found = this.#waiting.get(deviceCode);
    if (!found || !this.#isFresh(found))
      throw new KindlingError('KND_DEVICE_CODE', 'nobody approved this sign-in in time');
    if (found.grant) this.#waiting.delete(deviceCode);
    return found.grant;
  }

  #isFresh({ askedAt }: Waiting): boolean {
    return this.#now().getTime() - askedAt.getTime() < EXPIRES_SECONDS * 1000;
  }
}
