import { placeOf, type Seal } from '../seal/seal.ts';
import type { Store } from './store.ts';

interface Row {
  name: string;
  document: string;
}

type TableName = 'profiles' | 'templates' | 'settings' | 'stage_times';

/**
 * Named documents: profiles, templates, the site's settings, the times of each profile's stages. They are sealed as a whole: any text
 * in them may hold a password.
 */
export class DocumentTable<T> {
  readonly #store: Store;
  readonly #table: TableName;
  readonly #seal: Seal;
  readonly #complete: (saved: T) => T;

  /** `complete` gives a document that an older version saved what has come since. */
  constructor(store: Store, table: TableName, seal: Seal, complete: (saved: T) => T = (saved) => saved) {
    this.#store = store;
    this.#table = table;
    this.#seal = seal;
    this.#complete = complete;
  }

  async list(): Promise<T[]> {
    const rows = await this.#store.all<Row>(`SELECT name, document FROM ${this.#table} ORDER BY name`);
    return rows.map((row) => this.#open(row));
  }

  async get(name: string): Promise<T | undefined> {
    const row = await this.#store.get<Row>(`SELECT name, document FROM ${this.#table} WHERE name = ?`, name);
    return row && this.#open(row);
  }

  async save(name: string, document: T): Promise<void> {
    await this.#store.run(
      `INSERT INTO ${this.#table} (name, document) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET document = excluded.document`,
      name,
      this.sealed(name, document),
    );
  }

  /** A document as it may leave the process. */
  sealed(name: string, document: T): string {
    return this.#seal.seal(JSON.stringify(document), placeOf(this.#table, name));
  }

  opened(name: string, sealed: string): T {
    return this.#complete(JSON.parse(this.#seal.open(sealed, placeOf(this.#table, name))) as T);
  }

  async delete(name: string): Promise<boolean> {
    return (await this.#store.run(`DELETE FROM ${this.#table} WHERE name = ?`, name)) > 0;
  }

  #open({ name, document }: Row): T {
    return this.opened(name, document);
  }
}
