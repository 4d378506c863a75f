import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import { type KindlingError, toKindlingError } from '../../../protocol/error.ts';
import type { Heard, Message, Recalled, Topic } from '../messages.ts';
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
import { Latest } from './latest.ts';
import { FORGET_OLD_MESSAGES, Outbox, type OutboxRow } from './outbox.ts';
import { StatementTexts } from './statement-text.ts';
import { TYPES } from './types.ts';
import { WakeUp } from './wake-up.ts';
import { WriterConnection } from './writer.ts';

/**
 * One transaction at a time writes, over all processes: each waits for the lock of writers. LOCK TABLE needs no snapshot, so the transaction
 * sees all that was committed before it got the lock. "buffered" as in the port: COMMIT does not wait for the disk. "synced" is what the
 * server is set to, its standbys included.
 */
const LOCK = 'LOCK TABLE kindling_writer IN EXCLUSIVE MODE';
const BEGIN: Record<Durability, string> = {
  synced: `BEGIN ISOLATION LEVEL REPEATABLE READ; ${LOCK}`,
  buffered: `BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL synchronous_commit = off; ${LOCK}`,
};
/** A transaction that met another program's is done anew so often. */
const MOST_ATTEMPTS = 10;
/** Messages without a transaction that wait while the database does not answer; the oldest are dropped. */
const MOST_WAITING_MESSAGES = 1000;
const FORGET_MS = 60_000;

interface Transaction {
  /** False from COMMIT or ROLLBACK on: what was started in it and outlives it is no longer part of it. */
  isOpen: boolean;
  /** Another program's transaction was in the way of this one. */
  hasConflict: boolean;
  messages: Message[];
  /** What follows its COMMIT. */
  followers: (() => void)[];
}

/**
 * A PostgreSQL database that any number of processes share. Each writes by one connection. A transaction begins with the messages of all
 * before it, so that memory is what the database has while it decides; others read at the same time.
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
  readonly #outbox: Outbox;
  readonly #refreshing = new Latest(() => this.#catchUp());
  readonly #wakeUp: WakeUp;
  #waitingMessages: Message[] = [];
  #isSending = false;
  #committing: Promise<void> | undefined;
  #forgotAt = 0;

  private constructor(address: DatabaseAddress, { onDefect, isAlone }: StoreOptions) {
    this.#database = describeAddress(address);
    this.#onDefect = onDefect;
    this.#outbox = new Outbox(onDefect);
    this.#writer = new WriterConnection(address, isAlone ?? false);
    this.#readers = new pg.Pool({
      ...toClientConfig(address),
      types: TYPES,
      max: Math.max(1, (address.connections ?? DEFAULT_CONNECTIONS) - 2),
      query_timeout: ANSWER_MS,
    });
    // An idle connection was lost. It is out of the pool; the next one who asks finds out whether there is another.
    this.#readers.on('error', () => {});
    this.#wakeUp = new WakeUp(address, () => void this.#look());
  }

  static async open(address: DatabaseAddress, options: StoreOptions): Promise<PostgresStore> {
    const store = new PostgresStore(address, options);
    try {
      await store.transaction(async () => {});
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
    if (this.current) return (await this.#write(sql, values)).rowCount ?? 0;
    const changes = await this.#inTurn(async () => (await this.#write(sql, values)).rowCount ?? 0);
    this.health.worked();
    return changes;
  }

  async get<Row>(sql: string, ...values: StoreValue[]): Promise<Row | undefined> {
    return (await this.all<Row>(sql, ...values))[0];
  }

  async all<Row>(sql: string, ...values: StoreValue[]): Promise<Row[]> {
    if (this.current) return (await this.#write(sql, values)).rows as Row[];
    return this.#read<Row>(this.#texts.of(sql), values.map(toStored));
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

  get lastId(): number {
    return this.#outbox.lastId;
  }

  tell(message: Message): void {
    const transaction = this.current;
    if (transaction) {
      transaction.messages.push(message);
      return;
    }
    this.#waitingMessages.push(message);
    void this.#sendWaiting();
  }

  hear(topic: Topic, listener: (body: unknown, heard: Heard) => void): void {
    this.#outbox.hear(topic, listener);
  }

  async recall<Body>(topic: Topic, count: number): Promise<Recalled<Body>> {
    const [oldest] = await this.#read<{ id: number }>('SELECT min(id) AS id FROM kindling_outbox', []);
    const rows = await this.#read<{ id: number; body: string }>(
      'SELECT id, body FROM kindling_outbox WHERE topic = $1 ORDER BY id DESC LIMIT $2',
      [topic, count],
    );
    const messages = rows.reverse().map(({ id, body }) => ({ id, body: JSON.parse(body) as Body }));
    const first = messages.length < count ? oldest?.id : messages[0]?.id;
    return { messages, forgottenId: (first ?? 0) - 1 };
  }

  async refresh(): Promise<void> {
    if (!this.current) await this.#refreshing.run();
  }

  follow(): void {
    this.#wakeUp.start();
  }

  async close(): Promise<void> {
    await this.#wakeUp.stop();
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

  /** The one place where a transaction is done anew. What it did before is rolled back, and what was to follow it is forgotten. */
  async #transactUntilAlone<T>(work: () => Promise<T>, durability: Durability): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const transaction: Transaction = { isOpen: true, hasConflict: false, messages: [], followers: [] };
      try {
        return await this.#transact(transaction, work, durability);
      } catch (thrown) {
        if (!transaction.hasConflict || attempt === MOST_ATTEMPTS) throw thrown;
      }
    }
  }

  /** 1 the lock, and what others have changed  2 the work  3 its messages, with COMMIT  4 memory follows. */
  async #transact<T>(transaction: Transaction, work: () => Promise<T>, durability: Durability): Promise<T> {
    const { promise: committed, resolve: isCommitted } = Promise.withResolvers<void>();
    try {
      await this.#begin(durability);
      const result = await this.#context.run(transaction, work);
      transaction.isOpen = false;
      this.#committing = committed;
      await this.#commit(transaction);
      this.health.worked();
      this.#outbox.committed(transaction.messages);
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

  async #begin(durability: Durability): Promise<void> {
    const { text, after } = this.#outbox.newerThanHeard();
    const { rows } = await this.#query(`${BEGIN[durability]}; ${text}`);
    await this.#attempt(async () => this.#outbox.found(rows as OutboxRow[], after));
  }

  /**
   * Where the answer to COMMIT is lost, the caller learns that it may have happened. If it did, this process hears the messages from the
   * database, as every other does.
   */
  async #commit({ messages }: Transaction): Promise<void> {
    await this.#query(messages.length > 0 ? `${this.#outbox.insertion(messages)}; COMMIT` : 'COMMIT');
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

  async #catchUp(): Promise<void> {
    const { text, after } = this.#outbox.newerThanHeard();
    const rows = await this.#read<OutboxRow>(text, []);
    await this.#attempt(async () => this.#outbox.found(rows, after));
  }

  /** Woken, or a second has passed. What fails is seen by the health of the store, and tried again. */
  async #look(): Promise<void> {
    try {
      await this.refresh();
      await this.#sendWaiting();
      if (performance.now() - this.#forgotAt < FORGET_MS) return;
      this.#forgotAt = performance.now();
      await this.run(FORGET_OLD_MESSAGES);
    } catch (thrown) {
      if (!toDatabaseFailure(thrown, this.#database)) this.#onDefect(thrown);
    }
  }

  /** Messages that belong to no transaction, all that wait in one. */
  async #sendWaiting(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (this.#waitingMessages.length > 0) await this.#send(this.#waitingMessages.splice(0));
    } catch (thrown) {
      if (!toDatabaseFailure(thrown, this.#database)) this.#onDefect(thrown);
    } finally {
      this.#isSending = false;
    }
  }

  async #send(messages: readonly Message[]): Promise<void> {
    try {
      await this.transaction(async () => {
        for (const message of messages) this.tell(message);
      }, 'buffered');
    } catch (thrown) {
      this.#waitingMessages = [...messages, ...this.#waitingMessages].slice(-MOST_WAITING_MESSAGES);
      throw thrown;
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
      await this.transaction(() => this.run('UPDATE kindling_layout SET version = version'));
      return undefined;
    } catch (thrown) {
      return toDatabaseFailure(thrown, this.#database) ?? toKindlingError(thrown);
    }
  }

  /** One at a time, with a connection. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.take();
    if (turn) await turn;
    try {
      await this.#attempt(() => this.#writer.connect());
      return await work();
    } finally {
      this.#turns.end();
    }
  }

  /** Beside the transaction that is open. */
  async #read<Row>(text: string, values: unknown[]): Promise<Row[]> {
    const { rows } = await this.#attempt(() => this.#readers.query(text, values));
    // It may have seen what this process is just committing: it is not to be ahead of memory.
    if (this.#committing) await this.#committing;
    return rows as Row[];
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
