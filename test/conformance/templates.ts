import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { runGo } from './go.ts';
import { randomTemplates } from './random-templates.ts';
import { difference, type Recording } from './recording.ts';

const FILE = new URL('../orchestrator-stub/workflow/recorded-by-go.json', import.meta.url);
const BATCH = 5000;

/** What Go says to our templates, recorded anew. Gives those to which it says something else now. */
export function recordTemplates(isKept: boolean): { count: number; drifted: string[] } {
  const recorded = readRecording();
  const fresh = record(recorded);
  if (isKept) writeFileSync(FILE, `${JSON.stringify(fresh, null, 2)}\n`);
  const drifted = fresh.cases.filter((each, at) => !isDeepStrictEqual(each, recorded.cases[at]));
  return {
    count: fresh.cases.length,
    drifted: drifted.map(({ template, output, error }) => `${template}\n  now: ${output ?? error}`),
  };
}

/** Random templates through both engines. Gives those on which they differ. */
export function fuzzTemplates(count: number): { seed: number; found: string[] } {
  const recording = readRecording();
  const seed = Number(process.env['KINDLING_TEST_SEED'] ?? randomInt(2 ** 31));
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
  return { seed, found };
}

function readRecording(): Recording {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Recording;
}

function record(recording: Recording): Recording {
  return JSON.parse(runGo('go-templates', { input: JSON.stringify(recording) })) as Recording;
}
