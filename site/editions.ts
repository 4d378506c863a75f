import { createHash } from 'node:crypto';
import type { Edition } from '../protocol/site-files.ts';
import { readIfThere } from '../system/read-if-there.ts';
import { writePrivate } from './state-folder.ts';

/** An edition, and the hash of what it is the edition of. */
export interface KeptEdition extends Edition {
  of: string;
}

const DAY_MS = 86_400_000;

/**
 * The same contents keep their edition, so that the same files stay the same bytes, until half of their time is over. A new
 * version is higher than the one before and than any that a lost state folder may have given out: it is the time in seconds.
 */
export function nextEdition(
  kept: KeptEdition | undefined,
  { of, days, now }: { of: string; days: number; now: Date },
): KeptEdition {
  const isFresh = kept && Date.parse(kept.expires) - now.getTime() > (days / 2) * DAY_MS;
  if (kept?.of === of && isFresh) return kept;
  const version = Math.max((kept?.version ?? 0) + 1, Math.floor(now.getTime() / 1000));
  return { of, version, expires: new Date(now.getTime() + days * DAY_MS).toISOString() };
}

/** The editions of what a site signs, kept in a file of the state folder. */
export class Editions {
  readonly #file: string;
  readonly #kept: Record<string, KeptEdition>;

  constructor(file: string) {
    this.#file = file;
    this.#kept = JSON.parse(readIfThere(file) ?? '{}') as Record<string, KeptEdition>;
  }

  /** The edition of `name` with these contents, which is good for this many days. */
  of(name: string, contents: unknown, days: number, now = new Date()): Edition {
    const hash = createHash('sha256').update(JSON.stringify(contents)).digest('hex');
    const edition = nextEdition(this.#kept[name], { of: hash, days, now });
    this.#kept[name] = edition;
    return { version: edition.version, expires: edition.expires };
  }

  /** To be called before anything with a new version is published. */
  save(): void {
    writePrivate(this.#file, `${JSON.stringify(this.#kept, null, 2)}\n`);
  }
}
