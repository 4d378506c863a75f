import type { Database } from './database.ts';

type TableName = 'profiles' | 'templates' | 'settings';

/** Named documents: profiles, templates, the site's settings. */
export class DocumentTable<T> {
  readonly #database: Database;
  readonly #table: TableName;

  constructor(database: Database, table: TableName) {
    this.#database = database;
    this.#table = table;
  }

  list(): T[] {
    return this.#database
      .all<{ document: string }>(`SELECT document FROM ${this.#table} ORDER BY name`)
      .map((row) => JSON.parse(row.document) as T);
  }

  get(name: string): T | undefined {
    const row = this.#database.get<{ document: string }>(
      `SELECT document FROM ${this.#table} WHERE name = ?`,
      name,
    );
    return row && (JSON.parse(row.document) as T);
  }

  save(name: string, document: T): void {
    this.#database.run(
      `INSERT INTO ${this.#table} (name, document) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET document = excluded.document`,
      name,
      JSON.stringify(document),
    );
  }

  delete(name: string): boolean {
    return this.#database.run(`DELETE FROM ${this.#table} WHERE name = ?`, name) > 0;
  }
}
