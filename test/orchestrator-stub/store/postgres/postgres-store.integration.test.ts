import { afterAll, beforeAll } from 'vitest';
import { PostgresCluster } from '../../../../lab/postgres/cluster.ts';
import { PostgresStore } from '../../../../orchestrator-stub/store/postgres/postgres-store.ts';
import type { Store } from '../../../../orchestrator-stub/store/store.ts';
import { describeSiteSeal } from '../../secrets/site-seal-contract.ts';
import { describeStore } from '../store-contract.ts';

let cluster: PostgresCluster;

beforeAll(async () => {
  cluster = await PostgresCluster.start();
});
afterAll(() => cluster[Symbol.asyncDispose]());

describeStore({
  name: 'PostgreSQL',
  open: async (options) => PostgresStore.open({ url: await cluster.freshSchema() }, options),
  failCommit,
});

describeSiteSeal('PostgreSQL', async () => {
  const onDefect = (thrown: unknown) => {
    throw thrown;
  };
  return PostgresStore.open({ url: await cluster.freshSchema() }, { onDefect });
});

/** A row that refers to nothing, looked at only at COMMIT. */
async function failCommit(store: Store): Promise<void> {
  await store.run('CREATE TABLE late (id TEXT REFERENCES hosts (id) DEFERRABLE INITIALLY DEFERRED)');
  await store.run("INSERT INTO late (id) VALUES ('nobody')");
}
