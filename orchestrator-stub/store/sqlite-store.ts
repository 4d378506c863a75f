import { AsyncLocalStorage } from 'node:async_hooks';
import { chmodSync, closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type KindlingError, toKindlingError } from '../../protocol/error.ts';
import { LocalMessenger } from './local-messenger.ts';
import type { Heard, Message, Recalled, Topic } from './messages.ts';
import { migrate } from './sqlite-migrations.ts';
import { lackOfRoom, toStateFailure } from './state-failure.ts';
import { StateHealth } from './state-health.ts';
import type { Durability, Store, StoreOptions, StoreValue } from './store.ts';
import { Turns } from './turns.ts';

const SYNCHRONOUS: Record<Durability, string> = { synced: 'FULL', buffered: 'NORMAL' };
/** The process stands still while SQLite waits for a lock, so it waits for a short write of a person's sqlite3 and no longer. */
const BUSY_TIMEOUT_MS = 500;

/** SQLite's own word for a database without a file. */
const IN_MEMORY = ':memory:';

interface Transaction {
  /** False from COMMIT or ROLLBACK on: what was started in it and outlives it is no longer part of it. */
  isOpen: boolean;
  messages: Message[];
  /** What follows its COMMIT. */
  followers: (() => void)[];
}

/**
 * One SQLite file in this process, through one connection: a statement outside of the open transaction waits until that one is over,
 * so nobody sees half of it and there is one writer.
 */
export class SqliteStore implements Store {
  readonly health = new StateHealth(() => this.#probe());
  readonly #folder: string;
  readonly #onDefect: StoreOptions['onDefect'];
  readonly #connection: DatabaseSync;
  readonly #messenger: LocalMessenger;
  readonly #statements = new Map<string, StatementSync>();
  readonly #turns = new Turns();
  readonly #context = new AsyncLocalStorage<Transaction>();
  #durability: Durability | undefined;

  constructor(path: string, { onDefect }: StoreOptions) {
    this.#folder = dirname(path);
    this.#onDefect = onDefect;
    this.#messenger = new LocalMessenger(onDefect);
    try {
      if (path !== IN_MEMORY) keepPrivate(path);
      this.#connection = new DatabaseSync(path);
      // WAL lets readers (the CLI with sqlite3, backups) work while agents report.
      this.#connection.exec('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;');
      this.#connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS};`);
      migrate(this.#connection);
    } catch (thrown) {
      throw toStateFailure(thrown, this.#folder) ?? thrown;
    }
    // While another program holds the lock, every further wait would keep all other callers waiting too.
    this.health.onChange((failure) => {
      const timeout = failure?.code === 'KND_STATE_LOCKED' ? 0 : BUSY_TIMEOUT_MS;
      this.#connection.exec(`PRAGMA busy_timeout = ${timeout};`);
    });
  }

  get current(): Transaction | undefined {
    const transaction = this.#context.getStore();
    return transaction?.isOpen ? transaction : undefined;
  }

  async run(sql: string, ...values: StoreValue[]): Promise<number> {
    if (this.current) return this.#write(sql, values);
    return this.#inTurn(() => {
      this.#setDurability('synced');
      const changes = this.#write(sql, values);
      this.health.worked();
      return changes;
    });
  }

  get<Row>(sql: string, ...values: StoreValue[]): Promise<Row | undefined> {
    return this.#read(() => this.#prepare(sql).get(...values) as Row | undefined);
  }

  all<Row>(sql: string, ...values: StoreValue[]): Promise<Row[]> {
    return this.#read(() => this.#prepare(sql).all(...values) as Row[]);
  }

  async transaction<T>(work: () => Promise<T>, durability: Durability = 'synced'): Promise<T> {
    if (this.current) return work();
    const turn = this.#turns.take();
    if (turn) await turn;
    try {
      return await this.#transact(work, durability);
    } finally {
      this.#turns.end();
    }
  }

  afterCommit(work: () => void): void {
    const transaction = this.current;
    if (transaction) transaction.followers.push(work);
    else work();
  }

  /** One file has all tables. */
  async scrub(): Promise<void> {
    await this.#inTurn(() => {
      this.#write('VACUUM');
      this.#attempt(() => this.#connection.exec('PRAGMA wal_checkpoint(TRUNCATE)'));
    });
  }

  get lastId(): number {
    return this.#messenger.lastId;
  }

  tell(message: Message): void {
    const transaction = this.current;
    if (transaction) transaction.messages.push(message);
    else this.#messenger.tell(message);
  }

  hear(topic: Topic, listener: (body: unknown, heard: Heard) => void): void {
    this.#messenger.hear(topic, listener);
  }

  recall<Body>(): Promise<Recalled<Body>> {
    return this.#messenger.recall();
  }

  /** There is no other process. */
  async refresh(): Promise<void> {}

  follow(): void {}

  async close(): Promise<void> {
    await this.#inTurn(() => {
      this.health.stop();
      this.#statements.clear();
      this.#connection.close();
    });
  }

  async #transact<T>(work: () => Promise<T>, durability: Durability): Promise<T> {
    this.#setDurability(durability);
    this.#write('BEGIN IMMEDIATE');
    const transaction: Transaction = { isOpen: true, messages: [], followers: [] };
    let result: T;
    try {
      result = await this.#context.run(transaction, work);
      this.#write('COMMIT');
    } catch (thrown) {
      this.#rollBack();
      throw thrown;
    } finally {
      transaction.isOpen = false;
    }
    this.health.worked();
    // Before the next turn, which finds in memory what the database has.
    for (const message of transaction.messages) this.#messenger.tell(message);
    for (const follower of transaction.followers) this.#follow(follower);
    return result;
  }

  /** A follower's fault must not look like a fault of the change, which is done. */
  #follow(follower: () => void): void {
    try {
      follower();
    } catch (thrown) {
      this.#onDefect(thrown);
    }
  }

  /** SQLite itself rolls back on a full disk and on some I/O errors; a ROLLBACK after that fails, and must not hide the first error. */
  #rollBack(): void {
    if (!this.#connection.isTransaction) return;
    try {
      this.#connection.exec('ROLLBACK');
    } catch (thrown) {
      this.#onDefect(thrown);
    }
  }

  /** Writes the same number into the header again: the smallest change that goes the way of every other. */
  async #probe(): Promise<KindlingError | undefined> {
    try {
      const failure = lackOfRoom(this.#folder);
      if (failure || this.current) return failure;
      await this.transaction(async () => {
        const version = this.#prepare('PRAGMA user_version').get()?.['user_version'] ?? 0;
        this.#connection.exec(`PRAGMA user_version = ${version}`);
      });
      return undefined;
    } catch (thrown) {
      return toStateFailure(thrown, this.#folder) ?? toKindlingError(thrown);
    }
  }

  #setDurability(durability: Durability): void {
    if (this.#durability === durability) return;
    this.#attempt(() => this.#connection.exec(`PRAGMA synchronous = ${SYNCHRONOUS[durability]}`));
    this.#durability = durability;
  }

  #write(sql: string, values: StoreValue[] = []): number {
    return this.#attempt(() => Number(this.#prepare(sql).run(...values).changes));
  }

  async #read<T>(work: () => T): Promise<T> {
    if (this.current || !this.#turns.isTaken) return this.#attempt(work);
    return this.#inTurn(() => this.#attempt(work));
  }

  /** One statement runs to its end by itself: it needs a turn only where another has it. */
  async #inTurn<T>(work: () => T): Promise<T> {
    if (!this.#turns.isTaken) return work();
    await this.#turns.take();
    try {
      return work();
    } finally {
      this.#turns.end();
    }
  }

  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (thrown) {
      const failure = toStateFailure(thrown, this.#folder);
      if (!failure) throw thrown;
      this.health.failed(failure);
      throw failure;
    }
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#connection.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** SQLite makes its further files (-wal, -shm) with the mode of this one. */
function keepPrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}
