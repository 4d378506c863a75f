import { addressGroup } from './address-group.ts';

export interface RateLimits {
  /** What may come at once after a silence. */
  burst: number;
  perSecond: number;
  /** The same for all addresses together; absent: none. */
  inAll?: { burst: number; perSecond: number };
}

interface Bucket {
  left: number;
  at: number;
}

const KEPT_ADDRESSES = 10_000;
const ALL = '';

/** A token bucket per address and one for all: who asks for more than its share is told to come back later. */
export class RateLimit {
  readonly #limits: RateLimits;
  readonly #now: () => number;
  /** In the order of last use: the address that was silent longest is forgotten first. */
  readonly #buckets = new Map<string, Bucket>();
  readonly #all: Bucket;

  constructor(limits: RateLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
    this.#all = { left: limits.inAll?.burst ?? 0, at: now() };
  }

  /** False: not now. `cost` may be a count of records or bytes. */
  allows(address: string, cost = 1): boolean {
    const { inAll } = this.#limits;
    const own = this.#bucketOf(addressGroup(address));
    this.#refill(own, this.#limits);
    if (inAll) this.#refill(this.#all, inAll);
    if (own.left < cost || (inAll && this.#all.left < cost)) return false;
    own.left -= cost;
    if (inAll) this.#all.left -= cost;
    return true;
  }

  /** How much the address may still take now. */
  room(address: string): number {
    const { inAll } = this.#limits;
    const own = this.#bucketOf(addressGroup(address));
    this.#refill(own, this.#limits);
    if (inAll) this.#refill(this.#all, inAll);
    return Math.floor(inAll ? Math.min(own.left, this.#all.left) : own.left);
  }

  #bucketOf(group: string): Bucket {
    const bucket = this.#buckets.get(group) ?? { left: this.#limits.burst, at: this.#now() };
    this.#buckets.delete(group);
    this.#buckets.set(group, bucket);
    if (this.#buckets.size > KEPT_ADDRESSES) this.#buckets.delete(this.#buckets.keys().next().value ?? ALL);
    return bucket;
  }

  #refill(bucket: Bucket, { burst, perSecond }: { burst: number; perSecond: number }): void {
    const now = this.#now();
    bucket.left = Math.min(burst, bucket.left + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
  }
}
