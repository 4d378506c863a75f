import type { ChunkThread, Job } from './chunk-thread.ts';
import {
  type BlockHeader,
  blockHeaderBytes,
  CHECK_BYTES,
  readBlockHeader,
  readStreamFooter,
  readStreamHeader,
  STREAM_FOOTER_BYTES,
  STREAM_HEADER_BYTES,
} from './container.ts';
import type { Crew } from './crew.ts';
import { damaged } from './errors.ts';
import type { FileReader, NEEDS_INPUT } from './file-reader.ts';
import { ChunkHeaders, chunkHeaderBytes, resetsDictionary } from './lzma2.ts';
import { type IndexRecord, readIndex } from './read-index.ts';
import type { FilteredPart } from './undo-filters.ts';

/** Without one of these the walk cannot go on: bytes of the file, room in a thread, or threads that fit the next block. */
export type Need = typeof NEEDS_INPUT | 'room' | { threadsFor: BlockHeader };
type Walk<T> = Generator<Need, T>;
/** `part` says what is still to be done when the thread has decoded it. */
type OnJob = (job: Job, part: FilteredPart | undefined) => void;

/** The check of what a thread decodes of a filtered block: that is not yet what the block's own check is of. */
const NO_CHECK = 0;

/** Goes through the file and hands its chunks out, without decoding any: their headers say how long they are. */
export class FileWalk {
  readonly #file: FileReader;
  readonly #crew: Crew;
  readonly #onJob: OnJob;
  #blocksDealt = 0;

  constructor(file: FileReader, crew: Crew, onJob: OnJob) {
    this.#file = file;
    this.#crew = crew;
    this.#onJob = onJob;
  }

  *run(): Walk<void> {
    do yield* this.#stream();
    while (yield* this.#hasAnotherStream());
  }

  *#stream(): Walk<void> {
    const file = this.#file;
    const check = readStreamHeader(yield* file.take(STREAM_HEADER_BYTES));
    const blocks: IndexRecord[] = [];
    for (;;) {
      const first = yield* file.byte();
      if (first === 0) break;
      blocks.push(yield* this.#block(first, check));
    }
    const indexBytes = yield* readIndex(file, blocks);
    const footer = readStreamFooter(yield* file.take(STREAM_FOOTER_BYTES), check);
    if (footer.indexBytes !== indexBytes) throw damaged('a stream’s end has another index');
  }

  *#block(first: number, check: number): Walk<IndexRecord> {
    const file = this.#file;
    const start = file.position - 1;
    const rest = yield* file.take(blockHeaderBytes(first) - 1);
    const header = readBlockHeader(Buffer.concat([Buffer.from([first]), rest]));
    if (!this.#crew.fits(header)) yield { threadsFor: header };
    const thread = this.#crew.threadFor(this.#blocksDealt);
    this.#blocksDealt += 1;

    const dataStart = file.position;
    const uncompressedSize = yield* this.#chunks(thread, header, check);
    const compressedSize = file.position - dataStart;
    if (header.compressedSize !== undefined && header.compressedSize !== compressedSize) {
      throw damaged('a block has another length than it says');
    }
    const checkBytes = CHECK_BYTES[check] ?? 0;
    const unpaddedSize = file.position - start + checkBytes;
    while ((file.position - start) % 4 !== 0) {
      if ((yield* file.byte()) !== 0) throw damaged('a block is not padded with zeros');
    }
    // a block without any chunk is as good as one that begins here
    const isFirst = uncompressedSize === 0;
    const part = filteredPart(header, check, isFirst);
    if (part) part.expectedCheck = yield* file.take(checkBytes);
    yield* this.#reserveAndFill(thread, part ? 0 : checkBytes);
    const end = { control: 0, properties: 0, outputLength: 0, keep: 0 };
    this.#onJob(thread.give({ ...end, check: part ? NO_CHECK : check, isFirst }), part);
    return { unpaddedSize, uncompressedSize };
  }

  /** Answers how long the block is when it is decoded. */
  *#chunks(thread: ChunkThread, header: BlockHeader, check: number): Walk<number> {
    const file = this.#file;
    const { dictionary, uncompressedSize } = header;
    const headers = new ChunkHeaders();
    let total = 0;
    let sinceReset = 0;
    for (;;) {
      const control = yield* file.byte();
      if (control === 0) break;
      const rest = yield* file.take(chunkHeaderBytes(control) - 1);
      const chunk = headers.read(Buffer.concat([Buffer.from([control]), rest]));
      if (total + chunk.outputLength > (uncompressedSize ?? Number.POSITIVE_INFINITY)) {
        throw damaged('a block is longer than it says');
      }
      yield* this.#reserveAndFill(thread, chunk.inputLength);
      if (resetsDictionary(control)) sinceReset = 0;
      const keep = Math.min(sinceReset, dictionary);
      const isFirst = total === 0;
      const part = filteredPart(header, check, isFirst);
      this.#onJob(thread.give({ ...chunk, check: part ? NO_CHECK : check, isFirst, keep }), part);
      total += chunk.outputLength;
      sinceReset += chunk.outputLength;
    }
    if (uncompressedSize !== undefined && uncompressedSize !== total) {
      throw damaged('a block is shorter than it says');
    }
    return total;
  }

  *#reserveAndFill(thread: ChunkThread, length: number): Walk<void> {
    let target = thread.reserveInput(length);
    while (!target) {
      yield 'room';
      target = thread.reserveInput(length);
    }
    yield* this.#file.fill(target);
  }

  /** xz-file-format 2.2: zeros may follow a stream, in fours. */
  *#hasAnotherStream(): Walk<boolean> {
    const start = this.#file.position;
    yield* this.#file.skipZeros();
    if ((this.#file.position - start) % 4 !== 0) throw damaged('something follows its end');
    return (yield* this.#file.peek()) !== undefined;
  }
}

function filteredPart({ filters }: BlockHeader, check: number, isFirst: boolean): FilteredPart | undefined {
  return filters.length > 0 ? { filters, check, isFirst } : undefined;
}
