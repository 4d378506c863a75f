import type { ImageManifest } from '../../../formats/image-manifest.ts';
import { moveBackupGpt, restoreGpt } from '../../../formats/partition-table/gpt-backup.ts';
import { redact } from '../../../net/redact.ts';
import { KindlingError } from '../../../protocol/error.ts';
import { makeBootable, makeUnbootable, withholdFrom } from '../bootable.ts';
import { checkFits, checkHead } from '../check-head.ts';
import type { Bottleneck, WriteImageContext, WriteImageRequest, WriteImageResult } from '../interface.ts';
import { closingLine, findBottleneck, ProgressReporter, type ProgressSample } from '../progress.ts';
import { GATE_BYTES, HEAD_BYTES } from '../stream/block-output.ts';
import { alignedMemory } from '../target/aligned-memory.ts';
import { type Target, tryReadRange, writeBuffered } from '../target/target.ts';
import { ChunkCrew, workerCount } from './chunk-crew.ts';
import { ChunkTable, STATE } from './chunk-table.ts';
import { type ChunkTask, type ChunkWorkerMessage, Figures } from './chunk-task.ts';
import { fetchFirstChunk } from './first-chunk.ts';
import { ChunkJournal, fitsJournal, readJournal } from './journal.ts';
import type { Neighborhood } from './neighbors/neighborhood.ts';
import { planSpans } from './plan-spans.ts';
import { hasHash } from './unpack-chunk.ts';

const SAMPLE_EVERY = 16;

/** One write of one chunked image. The first chunk is this thread's own: it holds what makes the disk boot. */
export class ChunkedImageWrite {
  readonly #request: WriteImageRequest;
  readonly #context: WriteImageContext;
  readonly #target: Target;
  readonly #manifest: ImageManifest;
  readonly #table: ChunkTable;
  readonly #figures = Figures.forWorkers(workerCount());
  readonly #startedAt = performance.now();
  /** Of the first phase, made before there is work for it. */
  #crew: ChunkCrew | undefined;
  #phase: ProgressSample['phase'] = 'checking';
  #withholdFrom = Number.MAX_SAFE_INTEGER;
  #firstChunk: Buffer | undefined;
  #tail = Buffer.alloc(0);
  #differed: number[] = [];
  #own = { fetched: 0, kept: 0, fromOrigin: 0 };
  /** Of the read-back, apart from what was fetched and written. */
  #readFigures: Figures | undefined;
  #retries = 0;
  #waiting: { why: string; since: number; bytesRaw: number } | undefined;
  readonly #etags: Record<string, string> = {};

  constructor(
    request: WriteImageRequest,
    context: WriteImageContext,
    target: Target,
    manifest: ImageManifest,
  ) {
    this.#request = request;
    this.#context = context;
    this.#target = target;
    this.#manifest = manifest;
    this.#table = ChunkTable.fromManifest(manifest);
  }

  async run(): Promise<WriteImageResult> {
    const progress = new ProgressReporter(this.#context.onProgress, () => this.#sample());
    const neighborhood = await this.#neighborhood();
    let journal: ChunkJournal | undefined;
    this.#crew = this.#makeCrew();
    try {
      // 1 what is on the disk already?
      checkFits(this.#manifest.size, this.#target, this.#source);
      const sequence = await this.#checkDisk();
      // 2 does the image fit this disk?
      const first = await this.#loadFirstChunk();
      const table = await checkHead(first.subarray(0, GATE_BYTES), 'zst', this.#target, this.#source);
      this.#withholdFrom = withholdFrom(table ?? {}, this.#target);
      if (this.#isIntact(first)) {
        this.#phase = 'done';
        progress.report();
        return this.#summary(false);
      }
      // 3 from here on the disk does not boot
      await this.#context.checkTarget?.();
      this.#keepTail();
      this.#phase = 'writing';
      makeUnbootable(this.#target, this.#manifest.size);
      // 4 fetch, verify, write, journal
      if (fitsJournal(this.#table.count)) {
        const { journalIntervalMs } = this.#request.chunks ?? {};
        journal = new ChunkJournal(
          this.#target,
          this.#table,
          this.#manifest.root,
          sequence,
          journalIntervalMs,
        );
        await journal.save();
      }
      const hasNeighbors = await neighborhood?.open();
      await this.#writeChunks(first, hasNeighbors ? neighborhood : undefined);
      await journal?.stop();
      // 5 read back, if asked for
      this.#phase = 'verifying';
      await this.#readBack();
      // 6 only now it may boot
      this.#phase = 'syncing';
      progress.report();
      const gptMoved = makeBootable(
        this.#target,
        { head: first.subarray(0, HEAD_BYTES), tail: this.#tail, tailAt: this.#withholdFrom },
        this.#request.moveBackupGpt !== false,
      );
      this.#phase = 'done';
      progress.report();
      await neighborhood?.linger(this.#context.signal);
      return this.#summary(gptMoved);
    } finally {
      this.#crew?.dismiss();
      progress.stop();
      await journal?.stop();
      await neighborhood?.close();
    }
  }

  /** Whether the disk is as it was. */
  get isUntouched(): boolean {
    return this.#phase === 'checking';
  }

  get #source(): string {
    return redact(this.#request.sources[0] ?? '');
  }

  get #isDelta(): boolean {
    return (this.#request.chunks?.mode ?? 'write') !== 'write';
  }

  /** Marks what is to be compared, compares it on all cores, and keeps what is right. Answers the journal's sequence. */
  async #checkDisk(): Promise<number> {
    const { states, count } = this.#table;
    const journal = this.#isDelta ? undefined : readJournal(this.#target, this.#manifest.root, count);
    if (!this.#isDelta && !journal) return 0;
    if (journal) this.#context.log?.('info', 'going on where an interrupted write of this image stopped');
    for (let index = 1; index < count; index += 1) {
      const isExpected = this.#isDelta || ((journal?.done[index >> 3] ?? 0) >> (index & 7)) & 1;
      if (isExpected) states[index] = this.#table.isZero(index) ? STATE.checkZero : STATE.check;
    }
    await this.#runPhase('check');
    if (this.#isDelta) {
      for (let index = 1; index < count; index += 1) {
        if (states[index] !== STATE.done) this.#differed.push(index);
      }
    }
    return journal?.sequence ?? 0;
  }

  /** The first chunk comes from the disk if it is right there (but for the moved table), else from the origin. */
  async #loadFirstChunk(): Promise<Buffer> {
    const length = this.#table.rawLength(0);
    this.#firstChunk = this.#isDelta ? this.#firstChunkOnDisk(length) : undefined;
    if (this.#firstChunk) {
      this.#own.kept = 1;
      return this.#firstChunk;
    }
    if (this.#isDelta) this.#differed.unshift(0);
    if (this.#table.isZero(0)) {
      this.#firstChunk = Buffer.alloc(length);
    } else {
      this.#firstChunk = await fetchFirstChunk(this.#table, this.#request, this.#context, (source, etag) => {
        this.#etags[source] = etag;
      });
      this.#own.fetched = this.#table.frameLength(0);
      this.#own.fromOrigin = 1;
    }
    return this.#firstChunk;
  }

  #firstChunkOnDisk(length: number): Buffer | undefined {
    const found = Buffer.from(
      tryReadRange(this.#target, alignedMemory(this.#table.memory.chunkSize), 0, length),
    );
    if (found.length < length) return undefined;
    const { gpt } = this.#manifest;
    const candidates = gpt ? [found, restoreGpt(found, gpt)] : [found];
    const isZero = this.#table.isZero(0);
    return candidates.find((bytes) =>
      isZero ? bytes.equals(Buffer.alloc(length)) : hasHash(bytes, this.#table.rawHash(0)),
    );
  }

  /** A disk that is right already, table at its end included, is not touched. */
  #isIntact(first: Buffer): boolean {
    if (!this.#isDelta || this.#differed.length > 0) return false;
    const wanted =
      this.#request.moveBackupGpt === false
        ? undefined
        : moveBackupGpt(first, this.#target.size, this.#target.sectorSize);
    if (!wanted) return true;
    const { position, bytes } = wanted.backup;
    const read = (at: number, length: number) =>
      tryReadRange(this.#target, alignedMemory(length), at, length);
    const hasHead = read(0, first.length).equals(wanted.head);
    const isBackup = read(position, bytes.length).equals(bytes);
    if (!hasHead || !isBackup) this.#context.log?.('info', 'only the partition table is written again');
    return hasHead && isBackup;
  }

  /** A kept last chunk has its end on the disk, where it is about to be wiped: it is remembered. */
  #keepTail(): void {
    const length = this.#manifest.size - this.#withholdFrom;
    const isKept = this.#table.states[this.#table.count - 1] === STATE.done;
    if (length > 0 && isKept) {
      this.#tail = Buffer.from(tryReadRange(this.#target, Buffer.alloc(length), this.#withholdFrom, length));
    }
  }

  async #writeChunks(first: Buffer, neighborhood: Neighborhood | undefined): Promise<void> {
    if (first.length > this.#withholdFrom) this.#tail = Buffer.from(first.subarray(this.#withholdFrom));
    if (this.#own.kept === 0)
      writeBuffered(this.#target, first.subarray(HEAD_BYTES, this.#withholdFrom), HEAD_BYTES);
    Atomics.store(this.#table.states, 0, STATE.done);
    await this.#runPhase('write', neighborhood);
  }

  #makeCrew(): ChunkCrew {
    return new ChunkCrew({ isHere: this.#request.chunks?.neighbors === undefined });
  }

  async #runPhase(
    phase: ChunkTask['phase'],
    neighborhood?: Neighborhood,
    figures = this.#figures,
  ): Promise<void> {
    const { close: _, ...target } = this.#target;
    const spans = planSpans(this.#table, phase, workerCount(), neighborhood?.settings.ownUrl);
    if (spans.byteLength === 0) return;
    const crew = this.#crew ?? this.#makeCrew();
    this.#crew = undefined;
    await crew.run({
      task: {
        phase,
        table: this.#table.memory,
        target,
        sources: this.#request.sources,
        etags: this.#etags,
        transport: this.#request.transport ?? {},
        ...(this.#needsRoots(phase)
          ? { roots: process.getBuiltinModule('node:tls').getCACertificates('default') }
          : {}),
        retry: this.#request.retry ?? {},
        targetIsZero: this.#request.targetIsZero ?? false,
        spans,
        figures: figures.memory,
        withholdFrom: this.#withholdFrom,
        ...(neighborhood ? { neighbors: neighborhood.settings } : {}),
      },
      onMessage: (message) => this.#hear(message),
      signal: this.#context.signal,
    });
  }

  #needsRoots(phase: ChunkTask['phase']): boolean {
    const { sources, transport } = this.#request;
    const isTls = sources.some((source) => new URL(source).protocol === 'https:');
    return phase === 'write' && isTls && transport?.caCertificates === undefined;
  }

  #hear(message: ChunkWorkerMessage): void {
    if (message.kind === 'tail') this.#tail = Buffer.from(message.bytes);
    if (message.kind === 'log') this.#context.log?.(message.level, message.message);
    if (message.kind === 'retry') {
      this.#context.log?.('warn', `${message.message}; trying again`);
      this.#retries += 1;
      const bytesRaw = this.#figures.total('bytesRaw');
      const since = this.#waiting?.bytesRaw === bytesRaw ? this.#waiting.since : performance.now();
      this.#waiting = { why: message.message, since, bytesRaw };
    }
  }

  async #readBack(): Promise<void> {
    const { readBack = 'none' } = this.#request;
    if (readBack === 'none') return;
    const { states, count } = this.#table;
    const withheld = Math.floor(this.#withholdFrom / this.#table.memory.chunkSize);
    for (let index = 1; index < count; index += readBack === 'all' ? 1 : SAMPLE_EVERY) {
      if (index !== withheld) states[index] = this.#table.isZero(index) ? STATE.checkZero : STATE.check;
    }
    this.#readFigures = Figures.forWorkers(workerCount());
    await this.#runPhase('check', undefined, this.#readFigures);
    const wrong = states.findIndex((state) => state !== STATE.done);
    if (wrong >= 0) {
      throw new KindlingError(
        'KND_DISK_READBACK',
        `${this.#target.path}: chunk ${wrong} is not what was written`,
      );
    }
  }

  async #neighborhood(): Promise<Neighborhood | undefined> {
    const options = this.#request.chunks?.neighbors;
    if (!options) return undefined;
    // few have neighbors, and an HTTP server takes time to load
    const { Neighborhood } = await import('./neighbors/neighborhood.ts');
    const serving = {
      table: this.#table,
      target: this.#target,
      root: this.#manifest.root,
      withheld: () => ({ head: this.#firstChunk, tail: this.#tail, tailAt: this.#withholdFrom }),
    };
    const ca = this.#request.transport?.caCertificates;
    return new Neighborhood(options, serving, ca, (message) => this.#context.log?.('warn', message));
  }

  #sample(): ProgressSample {
    const bytesRaw = this.#figures.total('bytesRaw');
    return {
      phase: this.#phase,
      bytesFetched: this.#figures.total('bytesFetched') + this.#own.fetched,
      bytesRaw,
      bytesWritten: this.#figures.total('bytesWritten'),
      waits: this.#waits(),
      share: bytesRaw / this.#manifest.size,
      verified: (this.#readFigures?.total('bytesRaw') ?? 0) / this.#manifest.size,
      readBack: this.#request.readBack,
      waitingFor: this.#waitingFor(bytesRaw),
    };
  }

  /** What the last retry was for, until something has come again. */
  #waitingFor(bytesRaw: number): string | undefined {
    if (!this.#waiting || this.#waiting.bytesRaw !== bytesRaw || this.#phase !== 'writing') return undefined;
    const { why, since } = this.#waiting;
    return `${this.#source} since ${Math.round((performance.now() - since) / 1000)} s (${why})`;
  }

  #waits(): Record<Bottleneck, number> {
    const decompression = this.#figures.total('decodeMs');
    const disk = this.#figures.total('diskWaitMs');
    const elapsed = (performance.now() - this.#startedAt) * workerCount();
    return { decompression, disk, network: Math.max(0, elapsed - decompression - disk) };
  }

  #summary(gptMoved: boolean): WriteImageResult {
    const seconds = (performance.now() - this.#startedAt) / 1000;
    const limitedBy = findBottleneck(this.#waits());
    return {
      format: 'chunked',
      source: this.#source,
      bytesFetched: this.#figures.total('bytesFetched') + this.#own.fetched,
      bytesRaw: this.#manifest.size,
      bytesWritten: this.#figures.total('bytesWritten'),
      seconds,
      limitedBy,
      resumes: this.#retries,
      gptMoved,
      chunks: {
        total: this.#table.count,
        zero: this.#table.count - this.#manifest.chunks.length,
        kept: this.#figures.total('kept') + this.#own.kept,
        fromOrigin: this.#figures.total('fromOrigin') + this.#own.fromOrigin,
        fromNeighbours: this.#figures.total('fromNeighbours'),
        differed: this.#differed,
        manifestRoot: this.#manifest.root,
      },
      closingLine: closingLine(this.#manifest.size, seconds, limitedBy),
    };
  }
}
