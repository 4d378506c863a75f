import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { RateLimit } from '../../net/rate-limit.ts';
import { KindlingError } from '../../protocol/error.ts';

const derive = promisify<string, string, number, Buffer>(scrypt);

/** Hashes that are computed at once, each on a thread of libuv's pool, which file reads use too. */
const AT_ONCE = 2;
const WAITING = 8;
/** Tries of one address: a person mistypes a few times; a machine that guesses gets one in ten seconds. */
const TRIES = { burst: 10, perSecond: 0.1, inAll: { burst: 60, perSecond: 5 } } as const;

/** Hashes passwords off the event loop, few at a time: what more is asked for is refused at once and may come again. */
export class PasswordHashing {
  readonly #tries = new RateLimit(TRIES);
  readonly #queue: (() => void)[] = [];
  #running = 0;

  /** Throws KND_API_BUSY where the address, or everybody, tries too often. */
  async hash(password: string, salt: string, address: string): Promise<Buffer> {
    if (this.#queue.length >= WAITING || !this.#tries.allows(address)) {
      throw new KindlingError('KND_API_BUSY', 'too many attempts to sign in');
    }
    if (this.#running >= AT_ONCE) await new Promise<void>((turn) => this.#queue.push(turn));
    this.#running += 1;
    try {
      return await derive(password, salt, 32);
    } finally {
      this.#running -= 1;
      this.#queue.shift()?.();
    }
  }
}
