import type { Store } from './store.ts';

type TableName = 'profiles' | 'templates' | 'settings' | 'stage_times';

/** Named documents: profiles, templates, the site's settings, the times of each profile's stages. */
export class DocumentTable<T> {
  readonly #store: Store;
  readonly #table: TableName;

  constructor(store: Store, table: TableName) {
    this.#store = store;
    this.#table = table;
  }

  async list(): Promise<T[]> {
    const rows = await this.#store.all<{ document: string }>(
      `SELECT document FROM ${this.#table} ORDER BY name`,
    );
    return rows.map((row) => JSON.parse(row.document) as T);
  }

  async get(name: string): Promise<T | undefined> {
    const row = await this.#store.get<{ document: string }>(
      `SELECT document FROM ${this.#table} WHERE name = ?`,
      name,
    );
    return row && (JSON.parse(row.document) as T);
  }

  async save(name: string, document: T): Promise<void> {
    await this.#store.run(
      `INSERT INTO ${this.#table} (name, document) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET document = excluded.document`,
      name,
      JSON.stringify(document),
    );
  }

  async delete(name: string): Promise<boolean> {
    return (await this.#store.run(`DELETE FROM ${this.#table} WHERE name = ?`, name)) > 0;
  }
}
