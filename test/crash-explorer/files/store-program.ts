import { join } from 'node:path';
import { DocumentTable } from '../../../orchestrator-stub/store/document-table.ts';
import { SqliteStore } from '../../../orchestrator-stub/store/sqlite-store.ts';
import type { Durability } from '../../../orchestrator-stub/store/store.ts';
import { seededRandom } from '../../actions/image-writer/test-image.ts';
import { testSeal } from '../../orchestrator-stub/seal/test-seal.ts';

// Changes the orchestrator's database, drawn from a seed, and prints each when it is acknowledged: the number of the change, and
// whether its COMMIT had to wait for the disk.

/** A little more than 4 MB in all, so that SQLite begins its log anew in the middle. */
const TEXT_BYTES = 40_000;

const [folder = '', seed = '', changes = ''] = process.argv.slice(2);
const random = seededRandom(Number(seed));
const seal = testSeal();
const open = () => {
  const database = new SqliteStore(join(folder, 'kindling.sqlite'), {
    onDefect: (thrown) => {
      throw thrown;
    },
  });
  return {
    database,
    templates: new DocumentTable<{ change: number; text: string }>(database, 'templates', seal),
    settings: new DocumentTable<{ change: number }>(database, 'settings', seal),
  };
};

let store = open();
console.log('open');
for (let change = 1; change <= Number(changes); change += 1) {
  const { database, templates, settings } = store;
  const durability: Durability = random() < 0.3 ? 'buffered' : 'synced';
  await database.transaction(async () => {
    // Each change leaves its number in two tables: both or neither.
    await settings.save('last', { change });
    const name = `t${Math.floor(random() * 8)}`;
    if (random() < 0.15) await templates.delete(name);
    await templates.save('last', { change, text: 'x'.repeat(random() < 0.5 ? TEXT_BYTES : 100) });
    await templates.save(name, { change, text: `${change} `.repeat(50) });
  }, durability);
  console.log(`${durability} ${change}`);
  // The orchestrator is stopped and started again.
  if (random() < 0.03) {
    await database.close();
    store = open();
  }
}
await store.database.close();
