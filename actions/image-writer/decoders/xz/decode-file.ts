import type { BlockOutput } from '../../stream/block-output.ts';
import type { RingReader } from '../../stream/ring.ts';
import { putOutBytes } from '../put-out-bytes.ts';
import type { Job } from './chunk-thread.ts';
import type { Crew } from './crew.ts';
import { damaged } from './errors.ts';
import { FileReader, NEEDS_INPUT } from './file-reader.ts';
import { OK, WRONG_CHECK } from './layout.ts';
import { FileWalk, type Need } from './walk-file.ts';

/**
 * Hands the chunks of the file out to the threads and puts out what they become, in order. What is handed out gets done without any more
 * of the file, and what is waited for is always the oldest of it: so nobody waits for somebody who waits for him.
 */
export async function decodeFile(crew: Crew, input: RingReader, output: BlockOutput): Promise<void> {
  const jobs: Job[] = [];
  const walk = new FileWalk(new FileReader(input), crew, (job) => jobs.push(job)).run();
  try {
    const problem = await goThrough(walk, jobs, crew, input, output);
    // whatever is wrong behind a chunk that cannot be decoded comes from that
    await putOutAll(jobs, output);
    if (problem) throw problem.thrown;
  } finally {
    crew.drain();
  }
}

/** To the end of the file, or to where it is damaged. */
async function goThrough(
  walk: Generator<Need, void>,
  jobs: Job[],
  crew: Crew,
  input: RingReader,
  output: BlockOutput,
): Promise<{ thrown: unknown } | undefined> {
  for (;;) {
    let step: IteratorResult<Need, void>;
    try {
      step = walk.next();
    } catch (thrown) {
      return { thrown };
    }
    if (step.done) return undefined;
    const need = step.value;
    if (typeof need === 'object') {
      await putOutAll(jobs, output);
      await crew.startFor(need.threadsFor);
      continue;
    }
    const oldest = jobs.shift();
    if (oldest) await putOut(oldest, output);
    else if (need === NEEDS_INPUT) input.next(1);
    else throw new Error('a thread has no room for a single chunk');
  }
}

async function putOutAll(jobs: Job[], output: BlockOutput): Promise<void> {
  for (let job = jobs.shift(); job; job = jobs.shift()) await putOut(job, output);
}

async function putOut(job: Job, output: BlockOutput): Promise<void> {
  const status = job.thread.wait(job.record);
  if (status === WRONG_CHECK) throw damaged('the check of a block is wrong');
  if (status !== OK) throw damaged('a chunk cannot be decoded');
  await putOutBytes(job.thread.bytes(job), output);
  job.thread.release(job.record);
}
