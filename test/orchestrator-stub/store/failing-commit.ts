import type { Store } from '../../../orchestrator-stub/store/store.ts';

/** Lets the COMMIT of the open transaction fail: a row that refers to nothing, looked at only then. */
export async function failingCommit(store: Store): Promise<void> {
  await store.run('PRAGMA defer_foreign_keys = ON');
  await store.run("INSERT INTO origins (host_id, origin) VALUES ('nobody', '')");
}
