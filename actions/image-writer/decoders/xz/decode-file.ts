import type { BlockOutput } from '../../stream/block-output.ts';
import type { RingReader } from '../../stream/ring.ts';
import { putOutBytes } from '../put-out-bytes.ts';
import type { Job } from './chunk-thread.ts';
import type { Crew } from './crew.ts';
import { damaged, wrongCheck } from './errors.ts';
import { FileReader, NEEDS_INPUT } from './file-reader.ts';
import { OK, WRONG_CHECK } from './layout.ts';
import type { FilteredPart } from './undo-filters.ts';
import { FileWalk, type Need } from './walk-file.ts';

/** A chunk that was handed out, and what is to be done with it afterwards. */
interface Piece {
  job: Job;
  part: FilteredPart | undefined;
}

/**
 * Hands the chunks of the file out to the threads and puts out what they become, in order. What is handed out gets done without any more
 * of the file, and what is waited for is always the oldest of it: so nobody waits for somebody who waits for him.
 */
export async function decodeFile(crew: Crew, input: RingReader, output: BlockOutput): Promise<void> {
  const pieces: Piece[] = [];
  const walk = new FileWalk(new FileReader(input), crew, (job, part) => pieces.push({ job, part })).run();
  try {
    const problem = await goThrough(walk, pieces, crew, input, output);
    // whatever is wrong behind a chunk that cannot be decoded comes from that
    await putOutAll(pieces, crew, output);
    if (problem) throw problem.thrown;
  } finally {
    crew.drain();
  }
}

/** To the end of the file, or to where it is damaged. */
async function goThrough(
  walk: Generator<Need, void>,
  pieces: Piece[],
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
      await putOutAll(pieces, crew, output);
      await crew.startFor(need.threadsFor);
      continue;
    }
    const oldest = pieces.shift();
    if (oldest) await putOut(oldest, crew, output);
    else if (need === NEEDS_INPUT) input.next(1);
    else throw new Error('a thread has no room for a single chunk');
  }
}

async function putOutAll(pieces: Piece[], crew: Crew, output: BlockOutput): Promise<void> {
  for (let piece = pieces.shift(); piece; piece = pieces.shift()) await putOut(piece, crew, output);
}

async function putOut({ job, part }: Piece, crew: Crew, output: BlockOutput): Promise<void> {
  const status = job.thread.wait(job.record);
  if (status === WRONG_CHECK) throw wrongCheck();
  if (status !== OK) throw damaged('a chunk cannot be decoded');
  const bytes = job.thread.bytes(job);
  await putOutBytes(part ? crew.undoFilters(part, bytes) : bytes, output);
  job.thread.release(job.record);
}
