import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { migrate } from './migrations.ts';

/** The one SQLite file of the stub: prepared statements by text, nested-safe transactions. */
export class Database {
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #depth = 0;

  constructor(path: string) {
    this.#connection = new DatabaseSync(path);
    // WAL lets readers (the CLI with sqlite3, backups) work while agents report. NORMAL may lose the last
    // milliseconds on a power cut, never consistency: the agents' journals resend what was lost.
    this.#connection.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000;',
    );
    migrate(this.#connection);
  }

  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  /** All or nothing. A transaction inside a transaction joins the outer one. */
  transaction<T>(work: () => T): T {
    if (this.#depth > 0) return work();
    this.run('BEGIN IMMEDIATE');
    this.#depth++;
    try {
      const result = work();
      this.run('COMMIT');
      return result;
    } catch (thrown) {
      this.run('ROLLBACK');
      throw thrown;
    } finally {
      this.#depth--;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#connection.close();
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
