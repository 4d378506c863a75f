import { chmodSync, closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { type KindlingError, toKindlingError } from '../../protocol/error.ts';
import { migrate } from './migrations.ts';
import { lackOfRoom, toStateFailure } from './state-failure.ts';
import { StateHealth } from './state-health.ts';

/**
 * synced: COMMIT returns when the disk has it, so a power cut takes nothing that was acknowledged.
 * buffered: for what is sent again or superseded within seconds (progress, log lines); a power cut may take the last of it,
 * a killed process never does.
 */
export type Durability = 'synced' | 'buffered';

const SYNCHRONOUS: Record<Durability, string> = { synced: 'FULL', buffered: 'NORMAL' };
/** The process stands still while SQLite waits for a lock, so it waits for a short write of a person's sqlite3 and no longer. */
const BUSY_TIMEOUT_MS = 500;

/** SQLite's own word for a database without a file. */
const IN_MEMORY = ':memory:';

export interface DatabaseOptions {
  /** Told when something that was to follow a COMMIT has failed: the change itself is done and stays. */
  onDefect: (thrown: unknown) => void;
}

/** The one SQLite file of the stub: prepared statements by text, transactions that join, and what follows a COMMIT. */
export class Database {
  /** Whether the state folder takes writes. */
  readonly health = new StateHealth(() => this.#probe());
  readonly #folder: string;
  readonly #onDefect: DatabaseOptions['onDefect'];
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #durability: Durability | undefined;
  /** What follows the COMMIT of the transaction that is open. */
  #followers: (() => void)[] | undefined;

  constructor(path: string, { onDefect }: DatabaseOptions) {
    this.#folder = dirname(path);
    this.#onDefect = onDefect;
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

  run(sql: string, ...values: SQLInputValue[]): number {
    if (this.isInTransaction) return this.#write(sql, values);
    this.#setDurability('synced');
    const changes = this.#write(sql, values);
    this.health.worked();
    return changes;
  }

  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#attempt(() => this.#prepare(sql).get(...values) as Row | undefined);
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#attempt(() => this.#prepare(sql).all(...values) as Row[]);
  }

  get isInTransaction(): boolean {
    return this.#followers !== undefined;
  }

  /** All or nothing. A transaction inside a transaction joins the outer one. */
  transaction<T>(work: () => T, durability: Durability = 'synced'): T {
    if (this.isInTransaction) return work();
    this.#setDurability(durability);
    this.#write('BEGIN IMMEDIATE');
    const followers: (() => void)[] = [];
    this.#followers = followers;
    let result: T;
    try {
      result = work();
      this.#write('COMMIT');
    } catch (thrown) {
      this.#rollBack();
      throw thrown;
    } finally {
      this.#followers = undefined;
    }
    this.health.worked();
    for (const follower of followers) this.#follow(follower);
    return result;
  }

  /**
   * Does `work` once the open transaction is committed, in the order of the calls, and never if it is rolled back; at once where
   * no transaction is open. Whatever others hear of a change, and whatever memory keeps of it, goes through here.
   */
  afterCommit(work: () => void): void {
    if (this.#followers) this.#followers.push(work);
    else work();
  }

  close(): void {
    this.health.stop();
    this.#statements.clear();
    this.#connection.close();
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
  #probe(): KindlingError | undefined {
    try {
      const failure = lackOfRoom(this.#folder);
      if (failure || this.isInTransaction) return failure;
      const version = this.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0;
      this.transaction(() => this.#connection.exec(`PRAGMA user_version = ${version}`));
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

  #write(sql: string, values: SQLInputValue[] = []): number {
    return this.#attempt(() => Number(this.#prepare(sql).run(...values).changes));
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
