import { randomInt } from 'node:crypto';
import { relative } from 'node:path';
import { onTestFailed } from 'vitest';
import { seededRandom } from '../actions/image-writer/test-image.ts';
import { SCALE } from './scale.ts';

/** Rounds in a usual run; a long one has more. */
export const rounds = (usual: number): number => Math.ceil(usual * SCALE);

/**
 * The seed of the test that runs: the one that was asked for, or the usual one, or (without a usual one) a new one each
 * time. Should the test fail, it is printed with the command that runs it again.
 */
export function testSeed(usual: number = randomInt(2 ** 31)): number {
  const asked = process.env['KINDLING_TEST_SEED'];
  const seed = asked === undefined ? usual : Number(asked);
  onTestFailed(({ task }) => {
    const hint = repeatHint({ seed, scale: SCALE, file: task.file.filepath, name: task.name });
    if (told.get(task.id) !== hint) console.error(hint);
    told.set(task.id, hint);
  });
  return seed;
}

/** By test: one that asks for its seed several times says it once. */
const told = new Map<string, string>();

/** Numbers from 0 up to 1, the same for the same seed. */
export const testRandom = (usual: number): (() => number) => seededRandom(testSeed(usual));

/** Whole numbers below the one that is asked for, the same for the same seed. */
export function testIntegers(usual: number): (below: number) => number {
  const random = testRandom(usual);
  return (below) => Math.floor(random() * below);
}

/** What a person types to see the same failure again. */
export function repeatHint(failed: { seed: number; scale: number; file: string; name: string }): string {
  const { seed, scale, name } = failed;
  const file = relative(process.cwd(), failed.file);
  const [, kind = 'unit'] = /\.(integration|qemu|long)\.test\.ts$/.exec(file) ?? [];
  const command = { unit: 'npm run test:unit --', long: 'npm run test:long --' }[kind] ?? 'npm test --';
  const scaled = scale === 1 ? '' : `KINDLING_TEST_SCALE=${scale} `;
  // vitest takes the name as a regular expression
  const pattern = name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll("'", "'\\''");
  return `The seed was ${seed}. Again with the same one:\n  KINDLING_TEST_SEED=${seed} ${scaled}${command} ${file} -t '${pattern}'`;
}
