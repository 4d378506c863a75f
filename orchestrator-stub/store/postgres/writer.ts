import pg from 'pg';
import { KindlingError } from '../../../protocol/error.ts';
import { Turns } from '../turns.ts';
import { ANSWER_MS, type DatabaseAddress, describeAddress, toClientConfig } from './address.ts';
import { checkOwnLayout, migrate } from './migrations.ts';
import { TYPES } from './types.ts';

/** Held by every process that uses the database; alone by one that others must not disturb. The number means nothing: nobody else uses it. */
const USERS_LOCK = 7_318_002;
const LOCK = `${USERS_LOCK}, hashtext(current_schema())`;
const OLDEST_VERSION = 150_000;
const LOCK_MS = 2000;
/** A process that stands still in the middle of a transaction keeps all others from writing: the server ends its session. */
const STANDSTILL_MS = 5000;
/** lock_not_available */
const LOCK_TIMEOUT = '55P03';

/** The one connection that writes for this process, made anew when it was lost. */
export class WriterConnection {
  readonly #address: DatabaseAddress;
  readonly #isAlone: boolean;
  readonly #turns = new Turns();
  #client: pg.Client | undefined;

  constructor(address: DatabaseAddress, isAlone: boolean) {
    this.#address = address;
    this.#isAlone = isAlone;
  }

  /** Connects if need be. Called in a turn of the store, so never twice at once. */
  async connect(): Promise<void> {
    if (this.#client) return;
    const client = new pg.Client({
      ...toClientConfig(this.#address),
      types: TYPES,
      query_timeout: ANSWER_MS,
    });
    const drop = () => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on('error', drop);
    client.on('end', drop);
    try {
      await client.connect();
      await this.#prepare(client);
    } catch (thrown) {
      await end(client);
      throw thrown;
    }
    this.#client = client;
  }

  /** One statement after the other, for all callers: PostgreSQL answers one at a time. Of several in one text the last answer counts, or COMMIT's. */
  async query(sql: string, values?: unknown[]): Promise<pg.QueryResult> {
    const turn = this.#turns.take();
    if (turn) await turn;
    try {
      const client = this.#client;
      if (!client) throw new Error('Connection terminated');
      const answers: pg.QueryResult | pg.QueryResult[] = await client.query(sql, values);
      return Array.isArray(answers) ? lastOf(answers) : answers;
    } catch (thrown) {
      // pg goes on waiting for the answer, and would give it to the next who asks.
      if (thrown instanceof Error && thrown.message === 'Query read timeout') await this.close();
      throw thrown;
    } finally {
      this.#turns.end();
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client) await end(client);
  }

  /** 1 a server we know  2 our place among those that use it  3 the layout that we know. */
  async #prepare(client: pg.Client): Promise<void> {
    await this.#checkServer(client);
    await client.query(
      `SET idle_in_transaction_session_timeout = ${STANDSTILL_MS}; SET lock_timeout = ${LOCK_MS}`,
    );
    if (await this.#takeAlone(client)) {
      await this.#migrate();
      if (!this.#isAlone) await this.#share(client);
    } else {
      await this.#lockShared(client);
      await checkOwnLayout(client);
    }
    await client.query('RESET lock_timeout');
  }

  /** Who is alone may change the layout: no older version works with it meanwhile. */
  async #takeAlone(client: pg.Client): Promise<boolean> {
    if (!this.#isAlone) {
      const { rows } = await client.query<{ taken: boolean }>(
        `SELECT pg_try_advisory_lock(${LOCK}) AS taken`,
      );
      return rows[0]?.taken ?? false;
    }
    await this.#waitFor(client, `SELECT pg_advisory_lock(${LOCK})`);
    return true;
  }

  async #lockShared(client: pg.Client): Promise<void> {
    await this.#waitFor(client, `SELECT pg_advisory_lock_shared(${LOCK})`);
  }

  /** There is no moment in between in which another could be alone. */
  async #share(client: pg.Client): Promise<void> {
    await this.#lockShared(client);
    await client.query(`SELECT pg_advisory_unlock(${LOCK})`);
  }

  /** A session that ends just now (a restart, a cut cable) still has the lock for a moment: it is waited for. */
  async #waitFor(client: pg.Client, lock: string): Promise<void> {
    try {
      await client.query(lock);
    } catch (thrown) {
      if (!isLockTimeout(thrown)) throw thrown;
      throw this.#inUse(
        this.#isAlone ? 'an orchestrator uses the database' : 'another program has the database for itself',
      );
    }
  }

  /** Over a connection of its own: to change a large table may take longer than an answer may otherwise. */
  async #migrate(): Promise<void> {
    const client = new pg.Client({ ...toClientConfig(this.#address), types: TYPES });
    try {
      await client.connect();
      await migrate(client);
    } finally {
      await end(client);
    }
  }

  async #checkServer(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ version: number; encoding: string; name: string }>(
      `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS name,
              current_setting('server_encoding') AS encoding`,
    );
    const [server] = rows;
    if (!server || server.version < OLDEST_VERSION)
      throw this.#refused(`its version is ${server?.name}, and 15 is the oldest that does`);
    if (server.encoding !== 'UTF8') throw this.#refused(`its encoding is ${server.encoding}, not UTF8`);
  }

  #inUse(message: string): KindlingError {
    return new KindlingError('KND_STATE_IN_USE', `${message} (${describeAddress(this.#address)})`);
  }

  #refused(reason: string): KindlingError {
    return new KindlingError(
      'KND_STATE_REFUSED',
      `the database ${describeAddress(this.#address)} does not do: ${reason}`,
      { hint: 'Make a database with encoding UTF8 on PostgreSQL 15 or newer.' },
    );
  }
}

/** The rows of the last statement; of "…; COMMIT" nobody asks for any. */
function lastOf(answers: readonly pg.QueryResult[]): pg.QueryResult {
  const last = answers.at(-1);
  if (!last) throw new Error('PostgreSQL gave no answer');
  return last;
}

function isLockTimeout(thrown: unknown): boolean {
  return thrown instanceof pg.DatabaseError && thrown.code === LOCK_TIMEOUT;
}

/** A connection that is broken already has nothing to say at its end. */
async function end(client: pg.Client): Promise<void> {
  await client.end().catch(() => {});
}
