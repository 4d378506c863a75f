import type { ImageManifest } from '../../../formats/image-manifest.ts';
import { moveBackupGpt, restoreGpt } from '../../../formats/partition-table/gpt-backup.ts';
import { redact } from '../../../net/redact.ts';
import { KindlingError } from '../../../protocol/error.ts';
import { checkFits } from '../check-head.ts';
import type { DiskContent, ImageBody, ImageFigures } from '../image-write.ts';
import type { Bottleneck, ImageFormat, WriteImageContext, WriteImageRequest } from '../interface.ts';
import { alignedMemory } from '../target/aligned-memory.ts';
import { type Target, tryReadRange, writeBuffered } from '../target/target.ts';
import { GATE_BYTES, type Withheld } from '../target/withheld.ts';
import { ChunkCrew, workerCount } from './chunk-crew.ts';
import { ChunkTable, STATE } from './chunk-table.ts';
import { type ChunkTask, type ChunkWorkerMessage, Figures } from './chunk-task.ts';
import { fetchFirstChunk } from './first-chunk.ts';
import { ChunkJournal, fitsJournal, readJournal } from './journal.ts';
import type { Neighborhood } from './neighbors/neighborhood.ts';
import { planSpans } from './plan-spans.ts';
import { hasHash } from './unpack-chunk.ts';

const SAMPLE_EVERY = 16;

interface PhaseOptions {
  withheld?: Withheld;
  neighborhood?: Neighborhood | undefined;
  figures?: Figures;
}

/** An image of which a manifest names every chunk. The first one is this thread's own: it holds what makes the disk boot. */
export class ChunkedImage implements ImageBody {
  readonly #request: WriteImageRequest;
  readonly #context: WriteImageContext;
  readonly #target: Target;
  readonly #manifest: ImageManifest;
  readonly #table: ChunkTable;
  readonly #figures = Figures.forWorkers(workerCount());
  readonly #startedAt = performance.now();
  /** Of the first phase, made before there is work for it. */
  #crew: ChunkCrew | undefined;
  #neighborhood: Neighborhood | undefined;
  #journal: ChunkJournal | undefined;
  /** Of the journal that an interrupted write has left. */
  #sequence = 0;
  #firstChunk: Buffer = Buffer.alloc(0);
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

  async readHead(): Promise<{ head: Buffer; format: ImageFormat }> {
    checkFits(this.#manifest.size, this.#target, this.source);
    this.#crew = this.#makeCrew();
    this.#sequence = await this.#checkDisk();
    this.#firstChunk = await this.#loadFirstChunk();
    return { head: this.#firstChunk.subarray(0, GATE_BYTES), format: 'zst' };
  }

  lookAtDisk(withheld: Withheld): DiskContent {
    const isIntact = this.#isIntact();
    if (!isIntact) this.#keepTail(withheld);
    return { isIntact, keptUntil: this.#manifest.size };
  }

  async write(withheld: Withheld): Promise<number> {
    if (fitsJournal(this.#table.count)) {
      const { journalIntervalMs } = this.#request.chunks ?? {};
      this.#journal = new ChunkJournal(
        this.#target,
        this.#table,
        this.#manifest.root,
        this.#sequence,
        journalIntervalMs,
      );
      await this.#journal.save();
    }
    const hasNeighbors = await this.#joinNeighbors(withheld);
    this.#writeFirstChunk(withheld);
    await this.#runPhase('write', { withheld, neighborhood: hasNeighbors ? this.#neighborhood : undefined });
    await this.#journal?.stop();
    return this.#manifest.size;
  }

  async verify(withheld: Withheld): Promise<void> {
    const { readBack = 'none' } = this.#request;
    if (readBack === 'none') return;
    const { states, count } = this.#table;
    const withheldChunk = Math.floor(withheld.tailAt / this.#table.memory.chunkSize);
    for (let index = 1; index < count; index += readBack === 'all' ? 1 : SAMPLE_EVERY) {
      if (index !== withheldChunk) states[index] = this.#table.isZero(index) ? STATE.checkZero : STATE.check;
    }
    this.#readFigures = Figures.forWorkers(workerCount());
    await this.#runPhase('check', { figures: this.#readFigures });
    const wrong = states.findIndex((state) => state !== STATE.done);
    if (wrong >= 0) {
      throw new KindlingError(
        'KND_DISK_READBACK',
        `${this.#target.path}: chunk ${wrong} is not what was written`,
      );
    }
  }

  async linger(): Promise<void> {
    await this.#neighborhood?.linger(this.#context.signal);
  }

  async close(): Promise<void> {
    this.#crew?.dismiss();
    await this.#journal?.stop();
    await this.#neighborhood?.close();
  }

  figures(): ImageFigures {
    const bytesRaw = this.#figures.total('bytesRaw');
    return {
      bytesFetched: this.#figures.total('bytesFetched') + this.#own.fetched,
      bytesRaw,
      bytesWritten: this.#figures.total('bytesWritten'),
      waits: this.#waits(),
      share: bytesRaw / this.#manifest.size,
      verified: (this.#readFigures?.total('bytesRaw') ?? 0) / this.#manifest.size,
      waitingFor: this.#waitingFor(bytesRaw),
    };
  }

  outcome() {
    return {
      format: 'chunked' as const,
      source: this.source,
      bytesRaw: this.#manifest.size,
      resumes: this.#retries,
      chunks: {
        total: this.#table.count,
        zero: this.#table.count - this.#manifest.chunks.length,
        kept: this.#figures.total('kept') + this.#own.kept,
        fromOrigin: this.#figures.total('fromOrigin') + this.#own.fromOrigin,
        fromNeighbours: this.#figures.total('fromNeighbours'),
        differed: this.#differed,
        manifestRoot: this.#manifest.root,
      },
    };
  }

  get source(): string {
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
    const kept = this.#isDelta ? this.#firstChunkOnDisk(length) : undefined;
    if (kept) {
      this.#own.kept = 1;
      return kept;
    }
    if (this.#isDelta) this.#differed.unshift(0);
    if (this.#table.isZero(0)) return Buffer.alloc(length);
    const fetched = await fetchFirstChunk(this.#table, this.#request, this.#context, (source, etag) => {
      this.#etags[source] = etag;
    });
    this.#own.fetched = this.#table.frameLength(0);
    this.#own.fromOrigin = 1;
    return fetched;
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
  #isIntact(): boolean {
    if (!this.#isDelta || this.#differed.length > 0) return false;
    const first = this.#firstChunk;
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

  /** A kept last chunk has its end on the disk, where it is about to be wiped. */
  #keepTail(withheld: Withheld): void {
    const { tailAt } = withheld;
    const length = this.#manifest.size - tailAt;
    const isKept = this.#table.states[this.#table.count - 1] === STATE.done;
    if (length > 0 && isKept) {
      withheld.keep(tryReadRange(this.#target, Buffer.alloc(length), tailAt, length), tailAt);
    }
  }

  #writeFirstChunk(withheld: Withheld): void {
    const { from, to } = withheld.keep(this.#firstChunk, 0);
    if (this.#own.kept === 0) writeBuffered(this.#target, this.#firstChunk.subarray(from, to), from);
    Atomics.store(this.#table.states, 0, STATE.done);
  }

  #makeCrew(): ChunkCrew {
    return new ChunkCrew({ isHere: this.#request.chunks?.neighbors === undefined });
  }

  async #runPhase(
    phase: ChunkTask['phase'],
    { withheld, neighborhood, figures = this.#figures }: PhaseOptions = {},
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
        ...(withheld ? { withheld: withheld.memory } : {}),
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
    if (message.kind === 'log') this.#context.log?.(message.level, message.message);
    if (message.kind === 'retry') {
      this.#context.log?.('warn', `${message.message}; trying again`);
      this.#retries += 1;
      const bytesRaw = this.#figures.total('bytesRaw');
      const since = this.#waiting?.bytesRaw === bytesRaw ? this.#waiting.since : performance.now();
      this.#waiting = { why: message.message, since, bytesRaw };
    }
  }

  /** Answers whether there is a place among them; without one the image is written all the same. */
  async #joinNeighbors(withheld: Withheld): Promise<boolean> {
    const options = this.#request.chunks?.neighbors;
    if (!options) return false;
    // few have neighbors, and an HTTP server takes time to load
    const { Neighborhood } = await import('./neighbors/neighborhood.ts');
    const serving = {
      table: this.#table,
      target: this.#target,
      root: this.#manifest.root,
      firstChunk: this.#firstChunk,
      withheld,
    };
    const ca = this.#request.transport?.caCertificates;
    this.#neighborhood = new Neighborhood(options, serving, ca, (message) =>
      this.#context.log?.('warn', message),
    );
    return this.#neighborhood.open();
  }

  /** What the last retry was for, until something has come again. */
  #waitingFor(bytesRaw: number): string | undefined {
    if (!this.#waiting || this.#waiting.bytesRaw !== bytesRaw) return undefined;
    const { why, since } = this.#waiting;
    return `${this.source} since ${Math.round((performance.now() - since) / 1000)} s (${why})`;
  }

  #waits(): Record<Bottleneck, number> {
    const decompression = this.#figures.total('decodeMs');
    const disk = this.#figures.total('diskWaitMs');
    const elapsed = (performance.now() - this.#startedAt) * workerCount();
    return { decompression, disk, network: Math.max(0, elapsed - decompression - disk) };
  }
}
