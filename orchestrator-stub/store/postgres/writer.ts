import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { KindlingError } from '../../../protocol/error.ts';
import { Turns } from '../turns.ts';
import { ANSWER_MS, type DatabaseAddress, describeAddress, toClientConfig } from './address.ts';
import { migrate } from './migrations.ts';
import { TYPES } from './types.ts';

/** Held by the orchestrator that writes. The number means nothing: nobody else uses it. */
const OWNER_LOCK = 7_318_002;
const OLDEST_VERSION = 150_000;
const LOCK_MS = 2000;
/** lock_not_available */
const LOCK_TIMEOUT = '55P03';

/**
 * The one connection that writes, made anew when it was lost. It holds the database for this process: memory follows what this process
 * commits, so a second one that writes would make it wrong. An orchestrator that took the database in between keeps it.
 */
export class WriterConnection {
  readonly #address: DatabaseAddress;
  readonly #owner = randomUUID();
  readonly #turns = new Turns();
  #client: pg.Client | undefined;
  #serverProcess: number | undefined;
  #connections = 0;

  constructor(address: DatabaseAddress) {
    this.#address = address;
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
      await this.#take(client);
    } catch (thrown) {
      await end(client);
      throw thrown;
    }
    this.#client = client;
    this.#connections += 1;
  }

  /** One statement after the other, for all callers: PostgreSQL answers one at a time. */
  async query(sql: string, values?: unknown[]): Promise<pg.QueryResult> {
    const turn = this.#turns.take();
    if (turn) await turn;
    try {
      const client = this.#client;
      if (!client) throw new Error('Connection terminated');
      return await client.query(sql, values);
    } catch (thrown) {
      // pg goes on waiting for the answer, and would give it to the next who asks.
      if (thrown instanceof Error && thrown.message === 'Query read timeout') await this.close();
      throw thrown;
    } finally {
      this.#turns.end();
    }
  }

  /** How many of our transactions are committed, as the database knows it. */
  async commits(): Promise<number> {
    const { rows } = await this.query('SELECT commits FROM kindling_owner WHERE owner = $1', [this.#owner]);
    return (rows[0] as { commits: number } | undefined)?.commits ?? 0;
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client) await end(client);
  }

  /** 1 a server we know  2 nobody else writes  3 the newest layout  4 ours, and still ours after a pause. */
  async #take(client: pg.Client): Promise<void> {
    await this.#checkServer(client);
    await this.#lock(client);
    if (this.#connections === 0) {
      await this.#migrate();
      await client.query('DELETE FROM kindling_owner');
      await client.query('INSERT INTO kindling_owner (owner, commits) VALUES ($1, 0)', [this.#owner]);
      return;
    }
    const { rowCount } = await client.query('SELECT 1 FROM kindling_owner WHERE owner = $1', [this.#owner]);
    if (!rowCount) throw this.#inUse('another orchestrator used the database while we were cut off from it');
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

  /** A session that ends just now (a restart, a cut cable) still has the lock for a moment: it is waited for. */
  async #lock(client: pg.Client): Promise<void> {
    if (this.#serverProcess !== undefined) await this.#endOldSession(client, this.#serverProcess);
    await client.query(`SET lock_timeout = ${LOCK_MS}`);
    try {
      const { rows } = await client.query<{ pid: number }>(
        'SELECT pg_backend_pid() AS pid FROM pg_advisory_lock($1, hashtext(current_schema()))',
        [OWNER_LOCK],
      );
      this.#serverProcess = rows[0]?.pid;
    } catch (thrown) {
      if (isLockTimeout(thrown)) throw this.#inUse('another orchestrator uses the database');
      throw thrown;
    }
    await client.query('RESET lock_timeout');
  }

  /** After a cut cable the server may believe for hours that our old session lives. */
  async #endOldSession(client: pg.Client, serverProcess: number): Promise<void> {
    await client.query(
      `SELECT pg_terminate_backend(pid, $2) FROM pg_locks
       WHERE locktype = 'advisory' AND classid = $1::oid AND pid = $3
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [OWNER_LOCK, LOCK_MS, serverProcess],
    );
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

function isLockTimeout(thrown: unknown): boolean {
  return thrown instanceof pg.DatabaseError && thrown.code === LOCK_TIMEOUT;
}

/** A connection that is broken already has nothing to say at its end. */
async function end(client: pg.Client): Promise<void> {
  await client.end().catch(() => {});
}
