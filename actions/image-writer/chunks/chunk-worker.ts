import { setImmediate as nextTurn } from 'node:timers/promises';
import { redact } from '../../../net/redact.ts';
import { RetryWindow } from '../../../net/retry-window.ts';
import { KindlingError } from '../../../protocol/error.ts';
import { isWorthAsking, nameDownloadError } from '../download.ts';
import type { HttpConnection } from '../http/connection.ts';
import { alignedMemory } from '../target/aligned-memory.ts';
import { dataRuns } from '../target/data-runs.ts';
import { DiskOutput } from '../target/disk-output.ts';
import { ALIGNMENT, type Target, tryReadRange } from '../target/target.ts';
import { Withheld } from '../target/withheld.ts';
import { ChunkTable, STATE } from './chunk-table.ts';
import { type ChunkFigure, type ChunkTask, type ChunkWorkerMessage, Figures } from './chunk-task.ts';
import { fetchSpan } from './fetch-span.ts';
import { NeighborSource } from './neighbors/neighbor-source.ts';
import { createUnpack, hasHash, isWrongContent, wrongChunk } from './unpack-chunk.ts';

/** With few of them a disk that hesitates for 20 ms holds up the cores; many workers with many would take too much memory. */
const ALL_BLOCKS = 12;
const LEAST_BLOCKS = 3;

/** One of the threads (the main thread among them) that fetch, verify, unpack and write chunks, in any order, until the work list is empty. */
export class ChunkWorker {
  readonly #task: ChunkTask;
  readonly #say: (message: ChunkWorkerMessage) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #table: ChunkTable;
  readonly #target: Target;
  readonly #output: DiskOutput;
  readonly #unpack = createUnpack();
  readonly #figures: Figures;
  readonly #spans: Int32Array;
  readonly #cursor: Int32Array;
  readonly #frame: Buffer;
  readonly #neighbors: NeighborSource | undefined;
  #scratch: Buffer | undefined;
  #connection: HttpConnection | undefined;
  #source = 0;
  /** What each source called its file: a second name explains a wrong chunk. */
  readonly #etags: Map<string, Set<string>>;

  /** `signal` ends what it waits for, where nobody can end the whole thread. */
  constructor(task: ChunkTask, say: (message: ChunkWorkerMessage) => void, signal?: AbortSignal) {
    this.#task = task;
    this.#say = say;
    this.#signal = signal;
    this.#table = new ChunkTable(task.table);
    this.#target = { ...task.target, close: () => {} };
    this.#figures = new Figures(task.figures);
    this.#etags = new Map(Object.entries(task.etags).map(([source, etag]) => [source, new Set([etag])]));
    this.#spans = new Int32Array(task.spans);
    this.#cursor = new Int32Array(task.cursor);
    this.#frame = Buffer.allocUnsafeSlow(this.#table.longestFrame);
    this.#output = new DiskOutput({
      target: this.#target,
      blockBytes: task.table.chunkSize,
      blockCount: Math.max(LEAST_BLOCKS, Math.floor(ALL_BLOCKS / this.#figures.workers)),
      targetIsZero: task.targetIsZero,
      zeroRunBytes: 0,
      onWritten: (bytes) => this.#add('bytesWritten', bytes),
    });
    if (task.withheld) this.#output.open(new Withheld(task.withheld));
    if (task.neighbors) {
      this.#neighbors = new NeighborSource(task.neighbors, task.transport, this.#table, (message) =>
        say({ kind: 'log', level: 'warn', message }),
      );
    }
  }

  async run(): Promise<void> {
    try {
      for (let span = this.#takeSpan(); span; span = this.#takeSpan()) await this.#doSpan(span.from, span.to);
      await this.#fetchFromNeighbors();
      await this.#output.finish();
    } finally {
      this.#connection?.destroy();
      this.#neighbors?.close();
      // whatever happened: nothing is on its way to a disk that somebody may close now
      await this.#output.landed();
    }
  }

  #takeSpan(): { from: number; to: number } | undefined {
    const at = Atomics.add(this.#cursor, 0, 1);
    if (at < 0 || at * 2 >= this.#spans.length) return undefined;
    return { from: this.#spans[at * 2] ?? 0, to: this.#spans[at * 2 + 1] ?? 0 };
  }

  async #doSpan(from: number, to: number): Promise<void> {
    const wanted: number[] = [];
    const zeros: number[] = [];
    for (let index = from; index < to; index += 1) {
      const state = this.#table.states[index];
      if (this.#task.phase === 'check') await this.#check(index, state);
      else if (state === STATE.zero) zeros.push(index);
      else if (state === STATE.fetch) wanted.push(index);
      this.#throwIfStopped();
    }
    for (const run of consecutive(zeros)) this.#zero(run.from, run.to);
    for (const run of consecutive(wanted)) {
      if (!this.#neighbors) await this.#fetchFromOrigin(run.from, run.to);
      else if (await this.#neighbors.isMine(run.from)) await this.#fetchForAll(run.from);
      else this.#neighbors.postpone(run.from);
    }
  }

  /** One command to the disk for all that lie side by side. */
  #zero(from: number, to: number): void {
    const start = this.#table.rawPosition(from);
    const last = to - 1;
    const end = this.#table.rawPosition(last) + this.#table.rawLength(last);
    this.#output.writeZeros(start, end - start);
    for (let index = from; index < to; index += 1) this.#done(index);
  }

  /** What is on the disk already is not fetched. */
  async #check(index: number, state: number | undefined): Promise<void> {
    if (state !== STATE.check && state !== STATE.checkZero) return;
    await nextTurn(); // reading a chunk holds up all else on this thread
    if (this.#isOnDisk(index)) {
      this.#add('kept', 1);
      this.#done(index);
    } else {
      Atomics.store(this.#table.states, index, this.#table.isZero(index) ? STATE.zero : STATE.fetch);
    }
  }

  #isOnDisk(index: number): boolean {
    this.#scratch ??= alignedMemory(this.#task.table.chunkSize);
    const length = this.#table.rawLength(index);
    const aligned = Math.ceil(length / ALIGNMENT) * ALIGNMENT;
    const found = tryReadRange(this.#target, this.#scratch, this.#table.rawPosition(index), aligned).subarray(
      0,
      length,
    );
    if (!this.#table.isZero(index)) return hasHash(found, this.#table.rawHash(index));
    return found.length === length && dataRuns(found, 0, length).every(({ isZero }) => isZero);
  }

  async #fetchFromOrigin(from: number, to: number): Promise<void> {
    const { sources, retry, transport } = this.#task;
    let next = from;
    const window = new RetryWindow({ policy: retry, sources: sources.length, signal: this.#signal });
    const onDone = (index: number) => {
      next = index + 1;
      window.progressed();
      this.#add('fromOrigin', 1);
    };
    while (next < to) {
      const source = sources[this.#source % sources.length] ?? '';
      let resume: (() => void) | undefined;
      try {
        this.#connection = await fetchSpan({
          table: this.#table,
          source,
          transport,
          from: next,
          to,
          frame: this.#frame,
          connection: this.#connection,
          signal: this.#signal,
          onBytes: (bytes) => this.#add('bytesFetched', bytes),
          onEtag: (etag) => this.#noteEtag(source, etag),
          onPausable: (go) => {
            resume = go;
          },
          onFrame: (index, frame) => {
            const isTaken = this.#takeFrame(index, frame, source, () => resume?.());
            if (isTaken) onDone(index);
            return isTaken;
          },
        });
      } catch (thrown) {
        this.#connection?.destroy();
        this.#connection = undefined;
        this.#throwIfStopped();
        const error = nameDownloadError(thrown, source);
        this.#source += 1;
        const isFinal = !isWorthAsking(error) || isWrongContent(error);
        if (error.code === 'KND_DISK_WRITE' || !window.mayAskAgain(isFinal)) throw error;
        this.#say({ kind: 'retry', message: `chunk ${next}: ${error.message}` });
        await window.pause();
      }
    }
  }

  #noteEtag(source: string, etag: string): void {
    const known = this.#etags.get(source) ?? new Set();
    this.#etags.set(source, known.add(etag));
  }

  /** Verify, unpack, write; false when too many blocks are on their way to the disk. */
  #takeFrame(index: number, frame: Buffer, source: string, resume: () => void): boolean {
    if (this.#output.failure) throw this.#output.failure;
    this.#throwIfStopped();
    const block = this.#output.takeBlock();
    const since = performance.now();
    if (!block) {
      this.#output.blockFreed().then(() => {
        this.#add('diskWaitMs', performance.now() - since);
        resume();
      });
      return false;
    }
    const isRight = hasHash(frame, this.#table.storedHash(index));
    const isUnpacked = isRight && this.#unpack(frame, block, this.#table.rawLength(index));
    this.#add('decodeMs', performance.now() - since);
    if (!isUnpacked) {
      this.#output.giveBack(block);
      throw wrongChunk(index, redact(source), (this.#etags.get(source)?.size ?? 0) > 1);
    }
    this.#write(index, block);
    return true;
  }

  #write(index: number, block: Buffer): void {
    this.#output.write(block, this.#table.rawLength(index), this.#table.rawPosition(index), () =>
      this.#done(index),
    );
  }

  /** One chunk from the origin, and the neighbors can see that it comes. */
  async #fetchForAll(index: number): Promise<void> {
    Atomics.store(this.#table.states, index, STATE.coming);
    await this.#fetchFromOrigin(index, index + 1);
  }

  async #fetchFromNeighbors(): Promise<void> {
    const neighbors = this.#neighbors;
    if (!neighbors) return;
    await neighbors.drain(async (index, raw, bytes) => {
      this.#throwIfStopped();
      if (raw === undefined) return this.#fetchForAll(index);
      const block = await this.#output.nextBlock();
      raw.copy(block);
      this.#add('bytesFetched', bytes);
      this.#add('fromNeighbours', 1);
      this.#write(index, block);
    });
  }

  #done(index: number): void {
    Atomics.store(this.#table.states, index, STATE.done);
    this.#add('bytesRaw', this.#table.rawLength(index));
  }

  #throwIfStopped(): void {
    if (Atomics.load(this.#cursor, 0) < 0) throw new KindlingError('KND_UNEXPECTED', 'stopped');
  }

  #add(name: ChunkFigure, amount: number): void {
    this.#figures.add(this.#task.workerIndex, name, amount);
  }
}

/** Groups sorted numbers into runs without gaps. */
function consecutive(indexes: readonly number[]): { from: number; to: number }[] {
  const runs: { from: number; to: number }[] = [];
  for (const index of indexes) {
    const last = runs.at(-1);
    if (last?.to === index) last.to += 1;
    else runs.push({ from: index, to: index + 1 });
  }
  return runs;
}
