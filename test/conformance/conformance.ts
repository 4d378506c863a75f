import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { KindlingError } from '../../protocol/error.ts';
import { randomTemplates } from './random-templates.ts';
import { difference, type Recording } from './recording.ts';

/**
 * `npm run conformance`: records anew what Go says to our templates, where Go is installed, and fails if it says something else
 * than what the tests have. `--write` keeps the new answers; `--fuzz N` compares N random templates instead.
 */
const FILE = new URL('../orchestrator-stub/workflow/recorded-by-go.json', import.meta.url);
const BATCH = 5000;

function record(recording: Recording): Recording {
  const go = spawnSync('go', ['run', '.'], {
    cwd: new URL('./go-templates/', import.meta.url),
    input: JSON.stringify(recording),
    encoding: 'utf8',
    maxBuffer: 1024 ** 3,
  });
  if (go.error)
    throw new KindlingError('KND_TOOL_MISSING', 'go is not installed; the tests need it not, this does');
  if (go.status !== 0)
    throw new KindlingError('KND_COMMAND_FAILED', `go run: ${go.stderr.trim().slice(0, 500)}`);
  return JSON.parse(go.stdout) as Recording;
}

function fuzz(recording: Recording, count: number, seed: number): string[] {
  const found: string[] = [];
  for (let done = 0; done < count; done += BATCH) {
    const templates = fc.sample(randomTemplates(), {
      numRuns: Math.min(BATCH, count - done),
      seed: seed + done,
    });
    const cases = [...new Set(templates)].map((template) => ({ template }));
    const answered = record({ ...recording, cases });
    found.push(...answered.cases.flatMap((each) => difference(each, answered, { isExact: false }) ?? []));
  }
  return found;
}

const recorded = JSON.parse(readFileSync(FILE, 'utf8')) as Recording;
const [option, count = '10000'] = process.argv.slice(2);
if (option === '--fuzz') {
  const seed = Number(process.env['KINDLING_TEST_SEED'] ?? randomInt(2 ** 31));
  const found = fuzz(recorded, Number(count), seed);
  console.log(
    [
      ...found.slice(0, 40),
      `${count} random templates, ${found.length} differ; KINDLING_TEST_SEED=${seed}`,
    ].join('\n'),
  );
  process.exitCode = found.length > 0 ? 1 : 0;
} else {
  const fresh = record(recorded);
  const drifted = fresh.cases.filter((each, at) => !isDeepStrictEqual(each, recorded.cases[at]));
  if (option === '--write') writeFileSync(FILE, `${JSON.stringify(fresh, null, 2)}\n`);
  for (const { template, output, error } of drifted) console.log(`${template}\n  now: ${output ?? error}`);
  console.log(
    `${fresh.cases.length} templates recorded with ${fresh.recordedWith}, ${drifted.length} drifted`,
  );
  process.exitCode = drifted.length > 0 && option !== '--write' ? 1 : 0;
}
