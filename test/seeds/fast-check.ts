import fc, { type IAsyncProperty, type IProperty, type Parameters } from 'fast-check';
import { rounds, testSeed } from './seeds.ts';

/** fast-check's number of runs where a test names none. */
const USUAL_RUNS = 100;

function assert<Ts>(property: IAsyncProperty<Ts>, parameters?: Parameters<Ts>): Promise<void>;
function assert<Ts>(property: IProperty<Ts>, parameters?: Parameters<Ts>): void;
function assert<Ts>(
  property: IAsyncProperty<Ts> | IProperty<Ts>,
  parameters: Parameters<Ts> = {},
): Promise<void> | void {
  const numRuns = rounds(parameters.numRuns ?? USUAL_RUNS);
  return fc.assert(property, { ...parameters, seed: testSeed(), numRuns });
}

/** fast-check as our tests use it: the seed can be given from outside, is told at a failure, and long runs do more. */
export default { ...fc, assert };
