import type { Messenger } from './messages.ts';
import type { StateHealth } from './state-health.ts';

/**
 * synced: COMMIT returns when the disk has it, so a power cut takes nothing that was acknowledged.
 * buffered: for what is sent again or superseded within seconds (progress, log lines); a power cut may take the last of it,
 * a killed process never does.
 */
export type Durability = 'synced' | 'buffered';

/** What a statement takes in place of a question mark. */
export type StoreValue = string | number | bigint | null | Uint8Array;

/**
 * Where the orchestrator keeps its state. Every call may wait, so between two calls anything may have changed: what reads, decides and
 * writes does so in one transaction.
 */
export interface Store extends Messenger {
  /** Whether changes are taken. */
  readonly health: StateHealth;
  /** The transaction that the caller is in: a key for what is to be remembered of it. Undefined outside of one. */
  readonly current: object | undefined;
  /** Runs one statement and returns how many rows it changed. Outside of a transaction it is one by itself. */
  run(sql: string, ...values: StoreValue[]): Promise<number>;
  get<Row>(sql: string, ...values: StoreValue[]): Promise<Row | undefined>;
  all<Row>(sql: string, ...values: StoreValue[]): Promise<Row[]>;
  /**
   * All or nothing: nobody outside sees a part of it. A transaction inside a transaction joins the outer one. `work` waits for the
   * store and for nothing else: others wait for it. What it starts and does not wait for belongs into afterCommit().
   */
  transaction<T>(work: () => Promise<T>, durability?: Durability): Promise<T>;
  /**
   * Does `work` once the open transaction is committed, in the order of the calls, and never if it is rolled back; at once where
   * no transaction is open, and after what it told was heard here. It is lost with this process: what memory keeps of a change, and
   * what must be done after it, goes through tell().
   */
  afterCommit(work: () => void): void;
  /** Leaves nothing in the files of the database that was overwritten or deleted in these tables. Outside of a transaction. */
  scrub(tables: readonly string[]): Promise<void>;
  /** Resolves when all that was committed before this call, by any process, is heard. A transaction begins with that by itself. */
  refresh(): Promise<void>;
  /** From now on messages of other processes are heard as they come. Called once all that hears them is there. */
  follow(): void;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

export interface StoreOptions {
  /** Told when something that was to follow a COMMIT has failed: the change itself is done and stays. */
  onDefect: (thrown: unknown) => void;
  /** No other process may use the state meanwhile. A SQLite file is never shared. */
  isAlone?: boolean;
}
