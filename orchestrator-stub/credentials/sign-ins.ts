import { randomUUID } from 'node:crypto';
import type { Store } from '../store/store.ts';

/** One sign-in of a person at a console, with the only refresh token that renews it. */
export interface SignIn {
  id: string;
  user: string;
  refreshId: string;
}

/** However often it is renewed: a day after the password was typed it is asked for again. */
const LIFETIME_MS = 24 * 3600 * 1000;
/** Machines that were let in are still told by their sign-in for so long after its end. */
const KEPT_MS = 30 * 24 * 3600 * 1000;
/** An answer that was lost on its way is asked for once more with the token before. */
const LOST_ANSWER_MS = 60_000;

interface Row {
  user: string;
  address: string;
  ends_at: number;
  refresh_id: string;
  previous_refresh_id: string | null;
  refreshed_at: number;
}

/** Sign-ins of people. Each opens the machine it was made at, its refresh token works once, and it ends with its password. */
export class SignIns {
  readonly #store: Store;
  readonly #now: () => Date;

  constructor(store: Store, now: () => Date) {
    this.#store = store;
    this.#now = now;
  }

  async start(user: string, address: string): Promise<SignIn> {
    const now = this.#now().getTime();
    const signIn = { id: randomUUID(), user, refreshId: randomUUID() };
    await this.#store.transaction(async () => {
      await this.#store.run('DELETE FROM sign_ins WHERE ends_at < ?', now - KEPT_MS);
      await this.#store.run(
        'INSERT INTO sign_ins (id, "user", address, ends_at, refresh_id, refreshed_at) VALUES (?, ?, ?, ?, ?, ?)',
        signIn.id,
        user,
        address,
        now + LIFETIME_MS,
        signIn.refreshId,
        now,
      );
    });
    return signIn;
  }

  /** Changes the refresh token for the next. One that was used before is in two hands: it ends the sign-in for both. */
  async renew(id: string, refreshId: string): Promise<SignIn | undefined> {
    return this.#store.transaction(async () => {
      const row = await this.#good(id);
      if (!row) return undefined;
      const now = this.#now().getTime();
      const isLostAnswer = refreshId === row.previous_refresh_id && now - row.refreshed_at < LOST_ANSWER_MS;
      if (refreshId !== row.refresh_id && !isLostAnswer) {
        await this.#store.run('UPDATE sign_ins SET ends_at = ? WHERE id = ?', now, id);
        return undefined;
      }
      if (isLostAnswer) return { id, user: row.user, refreshId: row.refresh_id };
      const next = { id, user: row.user, refreshId: randomUUID() };
      await this.#store.run(
        'UPDATE sign_ins SET refresh_id = ?, previous_refresh_id = ?, refreshed_at = ? WHERE id = ?',
        next.refreshId,
        refreshId,
        now,
        id,
      );
      return next;
    });
  }

  async isGood(id: string, user: string): Promise<boolean> {
    return (await this.#good(id))?.user === user;
  }

  /** The same, or a later one of the same person from the same address: an agent whose sign-in ran out makes another. */
  async continues(id: string, earlier: string): Promise<boolean> {
    if (id === earlier) return true;
    const [now, before] = [await this.#row(id), await this.#row(earlier)];
    return (
      now !== undefined && before !== undefined && now.user === before.user && now.address === before.address
    );
  }

  async endAll(): Promise<void> {
    const now = this.#now().getTime();
    await this.#store.run('UPDATE sign_ins SET ends_at = ? WHERE ends_at > ?', now, now);
  }

  async #good(id: string): Promise<Row | undefined> {
    const row = await this.#row(id);
    return row && row.ends_at > this.#now().getTime() ? row : undefined;
  }

  async #row(id: string): Promise<Row | undefined> {
    return this.#store.get<Row>('SELECT * FROM sign_ins WHERE id = ?', id);
  }
}
