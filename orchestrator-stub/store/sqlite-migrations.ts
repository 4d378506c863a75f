import type { DatabaseSync } from 'node:sqlite';
import { checkLayout, STEPS, type Step } from './migrations.ts';

/** Brings the file to the newest layout, one transaction per step. PRAGMA user_version counts them. */
export function migrate(connection: DatabaseSync): void {
  const row = connection.prepare('PRAGMA user_version').get() as { user_version: number };
  for (let version = checkLayout(row.user_version); version < STEPS.length; version++) {
    const statements = toSqlite(STEPS[version] ?? []);
    connection.exec(`BEGIN IMMEDIATE; ${statements}; PRAGMA user_version = ${version + 1}; COMMIT;`);
  }
}

function toSqlite(step: Step): string {
  return step.map((part) => (typeof part === 'string' ? part : (part.sqlite ?? ''))).join('\n');
}
