import { join } from 'node:path';
import type { DatabaseAddress } from './postgres/address.ts';
import { SqliteStore } from './sqlite-store.ts';
import type { Store, StoreOptions } from './store.ts';

export interface StoreLocation {
  /** Folder for the database (if it is SQLite), the site's CA and the artifacts. */
  stateFolder: string;
  /** A PostgreSQL database; a SQLite file in the state folder if there is none. */
  database?: DatabaseAddress | undefined;
}

/** The site's state. What talks to PostgreSQL is loaded only where it is used. */
export async function openStore(location: StoreLocation, options: StoreOptions): Promise<Store> {
  const { stateFolder, database } = location;
  if (!database) return new SqliteStore(join(stateFolder, 'kindling.sqlite'), options);
  const { PostgresStore } = await import('./postgres/postgres-store.ts');
  return PostgresStore.open(database, options);
}
