import type { Database } from '../../../orchestrator-stub/store/database.ts';

/** Lets the COMMIT of the open transaction fail: a row that refers to nothing, looked at only then. */
export function failingCommit(database: Database): void {
  database.run('PRAGMA defer_foreign_keys = ON');
  database.run("INSERT INTO origins (host_id, origin) VALUES ('nobody', '')");
}
