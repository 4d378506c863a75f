import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import { type KindlingError, toKindlingError } from '../../../protocol/error.ts';
import { StateHealth } from '../state-health.ts';
import { toStorable } from '../storable-text.ts';
import type { Durability, Store, StoreOptions, StoreValue } from '../store.ts';
import { Turns } from '../turns.ts';
import {
  ANSWER_MS,
  type DatabaseAddress,
  DEFAULT_CONNECTIONS,
  describeAddress,
  toClientConfig,
} from './address.ts';
import { isConflict, toDatabaseFailure } from './failure.ts';
import { StatementTexts } from './statement-text.ts';
import { TYPES } from './types.ts';
import { WriterConnection } from './writer.ts';

/** "buffered" as in the port: COMMIT does not wait for the disk. "synced" is what the server is set to, its replicas included. */
const BEGIN: Record<Durability, string> = {
  synced: 'BEGIN ISOLATION LEVEL SERIALIZABLE',
  buffered: 'BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL synchronous_commit = off',
};
/** A transaction that met another program's is done anew so often. */
const MOST_ATTEMPTS = 10;

interface Transaction {
  /** False from COMMIT or ROLLBACK on: what was started in it and outlives it is no longer part of it. */
  isOpen: boolean;
  hasWritten: boolean;
  /** Another program's transaction was in the way of this one. */
  hasConflict: boolean;
  /** What follows its COMMIT. */
  followers: (() => void)[];
}

/** A COMMIT whose answer was lost with the connection: nobody knows yet whether it happened. */
interface Unsettled {
  commit: number;
  followers: (() => void)[];
}

/**
 * A PostgreSQL database of which this process is the only writer. One connection writes, one transaction at a time; others read at the
 * same time, and are answered once memory has what they saw.
 */
export class PostgresStore implements Store {
  readonly health = new StateHealth(() => this.#probe());
  readonly #database: string;
  readonly #onDefect: StoreOptions['onDefect'];
  readonly #writer: WriterConnection;
  readonly #readers: pg.Pool;
  readonly #texts = new StatementTexts();
  readonly #turns = new Turns();
  readonly #context = new AsyncLocalStorage<Transaction>();
  #commits = 0;
  #committing: Promise<void> | undefined;
  #unsettled: Unsettled | undefined;

  private constructor(address: DatabaseAddress, { onDefect }: StoreOptions) {
    this.#database = describeAddress(address);
    this.#onDefect = onDefect;
    this.#writer = new WriterConnection(address);
    this.#readers = new pg.Pool({
      ...toClientConfig(address),
      types: TYPES,
      max: Math.max(1, (address.connections ?? DEFAULT_CONNECTIONS) - 1),
      query_timeout: ANSWER_MS,
    });
    // An idle connection was lost. It is out of the pool; the next one who asks finds out whether there is another.
    this.#readers.on('error', () => {});
  }

  static async open(address: DatabaseAddress, options: StoreOptions): Promise<PostgresStore> {
    const store = new PostgresStore(address, options);
    try {
      await store.#inTurn(async () => {});
      return store;
    } catch (thrown) {
      await store.close();
      throw thrown;
    }
  }

  get current(): Transaction | undefined {
    const transaction = this.#context.getStore();
    return transaction?.isOpen ? transaction : undefined;
  }

  async run(sql: string, ...values: StoreValue[]): Promise<number> {
    const transaction = this.current;
    if (transaction) {
      transaction.hasWritten = true;
      return (await this.#write(sql, values)).rowCount ?? 0;
    }
    const changes = await this.#inTurn(async () => (await this.#write(sql, values)).rowCount ?? 0);
    this.health.worked();
    return changes;
  }

  async get<Row>(sql: string, ...values: StoreValue[]): Promise<Row | undefined> {
    return (await this.all<Row>(sql, ...values))[0];
  }

  async all<Row>(sql: string, ...values: StoreValue[]): Promise<Row[]> {
    if (this.current) return (await this.#write(sql, values)).rows as Row[];
    if (this.#unsettled) await this.#inTurn(async () => {});
    const { rows } = await this.#attempt(() =>
      this.#readers.query(this.#texts.of(sql), values.map(toStored)),
    );
    // It may have seen what is just being committed: it is not to be ahead of memory.
    if (this.#committing) await this.#committing;
    return rows as Row[];
  }

  async transaction<T>(work: () => Promise<T>, durability: Durability = 'synced'): Promise<T> {
    if (this.current) return work();
    return this.#inTurn(() => this.#transactUntilAlone(work, durability));
  }

  afterCommit(work: () => void): void {
    const transaction = this.current;
    if (transaction) transaction.followers.push(work);
    else work();
  }

  async scrub(tables: readonly string[]): Promise<void> {
    for (const table of tables) await this.#inTurn(() => this.#query(`VACUUM FULL ${table}`));
  }

  async close(): Promise<void> {
    const turn = this.#turns.take();
    if (turn) await turn;
    try {
      this.health.stop();
      await this.#writer.close();
      if (!this.#readers.ended) await this.#readers.end();
    } finally {
      this.#turns.end();
    }
  }

  /** The one place where a transaction is done anew. What it did before is rolled back, and its followers are forgotten. */
  async #transactUntilAlone<T>(work: () => Promise<T>, durability: Durability): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const transaction: Transaction = {
        isOpen: true,
        hasWritten: false,
        hasConflict: false,
        followers: [],
      };
      try {
        return await this.#transact(transaction, work, durability);
      } catch (thrown) {
        if (!transaction.hasConflict || attempt === MOST_ATTEMPTS) throw thrown;
      }
    }
  }

  async #transact<T>(transaction: Transaction, work: () => Promise<T>, durability: Durability): Promise<T> {
    const { promise: committed, resolve: isCommitted } = Promise.withResolvers<void>();
    try {
      await this.#query(BEGIN[durability]);
      const result = await this.#context.run(transaction, work);
      transaction.isOpen = false;
      this.#committing = committed;
      await this.#commit(transaction);
      this.health.worked();
      // Before the next turn, which finds in memory what the database has.
      this.#follow(transaction.followers);
      return result;
    } catch (thrown) {
      transaction.isOpen = false;
      if (thrown instanceof Error && isConflict(thrown.cause)) transaction.hasConflict = true;
      await this.#rollBack();
      throw thrown;
    } finally {
      this.#committing = undefined;
      isCommitted();
    }
  }

  /** The transaction counts itself: if the answer is lost, the count tells afterwards whether it was committed. */
  async #commit({ hasWritten, followers }: Transaction): Promise<void> {
    if (!hasWritten) {
      await this.#query('COMMIT');
      return;
    }
    const commit = this.#commits + 1;
    try {
      await this.#query(`UPDATE kindling_owner SET commits = ${commit}; COMMIT`);
      this.#commits = commit;
    } catch (thrown) {
      if (toDatabaseFailure(thrown, this.#database)?.code === 'KND_STATE_CONNECTION')
        this.#unsettled = { commit, followers };
      throw thrown;
    }
  }

  /** Whether a COMMIT happened whose answer was lost. If it did, what follows it follows now. */
  async #settle(): Promise<void> {
    if (!this.#unsettled) return;
    const commits = await this.#writer.commits();
    const { commit, followers } = this.#unsettled;
    this.#unsettled = undefined;
    if (commits < commit) return;
    this.#commits = commits;
    this.#follow(followers);
  }

  /** A follower's fault must not look like a fault of the change, which is done. */
  #follow(followers: readonly (() => void)[]): void {
    for (const follower of followers) {
      try {
        follower();
      } catch (thrown) {
        this.#onDefect(thrown);
      }
    }
  }

  /** A connection that is lost has rolled back by itself. */
  async #rollBack(): Promise<void> {
    try {
      await this.#writer.query('ROLLBACK');
    } catch (thrown) {
      if (!toDatabaseFailure(thrown, this.#database)) this.#onDefect(thrown);
      await this.#writer.close();
    }
  }

  /** The smallest change that goes the way of every other. */
  async #probe(): Promise<KindlingError | undefined> {
    if (this.current) return undefined;
    try {
      await this.#inTurn(() => this.#query('UPDATE kindling_owner SET commits = commits'));
      return undefined;
    } catch (thrown) {
      return toDatabaseFailure(thrown, this.#database) ?? toKindlingError(thrown);
    }
  }

  /** One at a time, with a connection, and with memory as the database is. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.take();
    if (turn) await turn;
    try {
      await this.#attempt(async () => {
        await this.#writer.connect();
        await this.#settle();
      });
      return await work();
    } finally {
      this.#turns.end();
    }
  }

  #write(sql: string, values: StoreValue[]): Promise<pg.QueryResult> {
    return this.#query(this.#texts.of(sql), values.map(toStored));
  }

  #query(sql: string, values?: unknown[]): Promise<pg.QueryResult> {
    return this.#attempt(() => this.#writer.query(sql, values));
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      const failure = toDatabaseFailure(thrown, this.#database);
      if (!failure) throw thrown;
      // Another try may do; only what lasts is a failure of the database.
      if (failure.code === 'KND_STATE_CONFLICT') {
        const transaction = this.current;
        if (transaction) transaction.hasConflict = true;
      } else this.health.failed(failure);
      throw failure;
    }
  }
}

function toStored(value: StoreValue): StoreValue {
  return typeof value === 'string' ? toStorable(value) : value;
}
