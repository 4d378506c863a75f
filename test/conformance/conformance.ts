import { recordAttributes } from './attributes.ts';
import { fuzzTemplates, recordTemplates } from './templates.ts';

/**
 * `npm run conformance`: where Go is installed, records anew what Go's programs say to our cases, and fails if they say something
 * else than what the tests have. `--write` keeps the new answers; `--fuzz N` compares N random templates instead.
 */
const RECORDERS = {
  templates: recordTemplates,
  'machines by ghw': recordAttributes,
};

const [option, count = '10000'] = process.argv.slice(2);
if (option === '--fuzz') {
  const { seed, found } = fuzzTemplates(Number(count));
  for (const each of found.slice(0, 40)) console.log(each);
  console.log(`${count} random templates, ${found.length} differ; KINDLING_TEST_SEED=${seed}`);
  process.exitCode = found.length > 0 ? 1 : 0;
} else {
  for (const [what, record] of Object.entries(RECORDERS)) {
    const { count: cases, drifted } = record(option === '--write');
    for (const each of drifted) console.log(each);
    console.log(`${cases} ${what}: ${drifted.length} drifted`);
    if (drifted.length > 0 && option !== '--write') process.exitCode = 1;
  }
}
