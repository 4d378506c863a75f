import { openInstance, sealInstance } from '../nodes/instance-keys.ts';
import { isSealed, placeOf, type Seal } from '../seal/seal.ts';
import type { Store } from '../store/store.ts';
import { openDefinition, sealDefinition } from '../workflow/sealed-definition.ts';

/** A column that holds a secret, and what says which row it is. */
interface SealedColumn {
  table: string;
  column: string;
  row: readonly string[];
  /** What the column is to hold; undefined: it is sealed with the newest key. A plain value is one from before there were keys. */
  anew: (stored: string, place: string, seal: Seal) => string | undefined;
}

/** Every secret of the database. */
const COLUMNS: readonly SealedColumn[] = [
  { table: 'clients', column: 'secret', row: ['client_id'], anew: wholeText },
  { table: 'recovery_keys', column: 'document', row: ['host_id', 'key_id'], anew: wholeText },
  { table: 'profiles', column: 'document', row: ['name'], anew: wholeText },
  { table: 'templates', column: 'document', row: ['name'], anew: wholeText },
  { table: 'settings', column: 'document', row: ['name'], anew: wholeText },
  { table: 'stage_times', column: 'document', row: ['name'], anew: wholeText },
  { table: 'instances', column: 'document', row: ['host_id'], anew: instance },
  { table: 'workflows', column: 'definition', row: ['id'], anew: definition },
];

export const SEALED_TABLES: readonly string[] = COLUMNS.map(({ table }) => table);

/** Seals with the newest key what is plain or sealed with an older one. Returns how many values that were. */
export async function sealAnew(store: Store, seal: Seal): Promise<number> {
  return store.transaction(async () => {
    let count = 0;
    for (const column of COLUMNS) count += await sealColumn(store, seal, column);
    return count;
  });
}

/** A row at a time: a workflow may carry files. */
async function sealColumn(
  store: Store,
  seal: Seal,
  { table, column, row, anew }: SealedColumn,
): Promise<number> {
  const isRow = row.map((name) => `${name} = ?`).join(' AND ');
  let count = 0;
  for (const each of await store.all<Record<string, string>>(`SELECT ${row.join(', ')} FROM ${table}`)) {
    const names = row.map((name) => each[name] ?? '');
    const found = await store.get<{ stored: string }>(
      `SELECT ${column} AS stored FROM ${table} WHERE ${isRow}`,
      ...names,
    );
    const sealed = found && anew(found.stored, placeOf(table, ...names), seal);
    if (sealed === undefined) continue;
    await store.run(`UPDATE ${table} SET ${column} = ? WHERE ${isRow}`, sealed, ...names);
    count += 1;
  }
  return count;
}

function wholeText(stored: string, place: string, seal: Seal): string | undefined {
  if (!seal.isStale(stored)) return undefined;
  return seal.seal(isSealed(stored) ? seal.open(stored, place) : stored, place);
}

function instance(stored: string, _place: string, seal: Seal): string | undefined {
  const { sealedKeys } = JSON.parse(stored) as { sealedKeys?: string };
  if (sealedKeys === undefined) return sealInstance(JSON.parse(stored), seal);
  return seal.isStale(sealedKeys) ? sealInstance(openInstance(stored, seal), seal) : undefined;
}

function definition(stored: string, _place: string, seal: Seal): string | undefined {
  const { sealedActions } = JSON.parse(stored) as { sealedActions?: string };
  if (sealedActions === undefined) return sealDefinition(JSON.parse(stored), seal);
  return seal.isStale(sealedActions) ? sealDefinition(openDefinition(stored, seal), seal) : undefined;
}
