import type { Worker } from 'node:worker_threads';
import { redact } from '../../net/redact.ts';
import { KindlingError } from '../../protocol/error.ts';
import { fromReport } from '../../protocol/error-report.ts';
import { startWorker } from '../../system/worker.ts';
import { makeBootable, makeUnbootable, type Withheld, withholdFrom } from './bootable.ts';
import { checkFits, checkHead, type FoundTable } from './check-head.ts';
import type { Decoding } from './decoders/choose-decoder.ts';
import { loadQcow2Map } from './decoders/qcow2-map.ts';
import { Download, type DownloadFacts } from './download.ts';
import { checkFormat, SNIFF_LENGTH, sniffFormat } from './formats.ts';
import { rangeReader } from './http/range-reader.ts';
import type { ImageFormat, WriteImageContext, WriteImageRequest, WriteImageResult } from './interface.ts';
import { closingLine, findBottleneck, ProgressReporter, type ProgressSample } from './progress.ts';
import { hashFromDisk, readBack } from './read-back.ts';
import { checkSignature, fetchSignature } from './signature.ts';
import { GATE_BYTES, HEAD_BYTES } from './stream/block-output.ts';
import { createRingMemory, RingWriter } from './stream/ring.ts';
import type { GateAnswer, StreamResult, StreamTask, StreamWorkerMessage } from './stream/stream-task.ts';
import type { Target } from './target/target.ts';
import { verifyImage } from './verify-image.ts';

/** Every 16th block of 4 MiB is read back when a sample is asked for. */
const SAMPLE_EVERY = 16;

/** One write of one plain image: fetch → hash → decompress → lay out → write, each stage where it is fastest. */
export class PlainImageWrite {
  readonly #request: WriteImageRequest;
  readonly #context: WriteImageContext;
  readonly #target: Target;
  readonly #download: Download;
  readonly #ringMemory = createRingMemory();
  readonly #ring = new RingWriter(this.#ringMemory);
  readonly #abort = new AbortController();
  readonly #startedAt = performance.now();
  #facts: DownloadFacts | undefined;
  #sniffed = Buffer.alloc(0);
  #format: ImageFormat | undefined;
  #state: 'sniffing' | 'deciding' | 'feeding' = 'sniffing';
  #worker: Worker | undefined;
  #result = Promise.withResolvers<StreamResult>();
  #table: FoundTable | undefined;
  #withholdFrom = Number.MAX_SAFE_INTEGER;
  #phase: ProgressSample['phase'] = 'checking';
  #verified = 0;
  #ringFullMs = 0;

  constructor(request: WriteImageRequest, context: WriteImageContext, target: Target) {
    this.#request = request;
    this.#context = context;
    this.#target = target;
    const signals = [this.#abort.signal, ...(context.signal ? [context.signal] : [])];
    this.#download = new Download({
      sources: request.sources,
      transport: request.transport ?? {},
      retry: request.retry ?? {},
      expectedLength: request.expected?.length,
      hashes: wantedHashes(request),
      signal: AbortSignal.any(signals),
      log: context.log ?? (() => {}),
      onStart: (facts) => {
        this.#facts = facts;
      },
      onBytes: (bytes) => this.#take(bytes),
    });
    this.#result.promise.catch(() => {});
  }

  async run(): Promise<WriteImageResult> {
    const progress = new ProgressReporter(this.#context.onProgress, () => this.#sample());
    try {
      const { signers } = this.#request.expected ?? {};
      const signature = signers ? await fetchSignature(this.#request, this.#context) : undefined;
      // 1 stream everything to the disk but the first MiB
      const streamed = await this.#withRawHash(await this.#stream());
      // 2 nothing is believed until length, hash, signature and table agree
      const sha256 = this.#download.digest('sha256');
      verifyImage(this.#request.expected ?? {}, {
        source: redact(this.#download.source),
        format: this.#format ?? 'raw',
        bytesFetched: this.#download.bytesFetched,
        isEndDefinite: this.#download.isEndDefinite,
        sha256,
        sha512: this.#download.digest('sha512'),
        rawLength: streamed.rawLength,
        rawSha256: streamed.rawSha256,
        neededBytes: this.#table?.neededBytes ?? 0,
      });
      if (signers && signature) checkSignature(signers, this.#download.source, sha256 ?? '', signature);
      // 3 read back, if asked for
      this.#phase = 'verifying';
      const withheld = this.#withheld(streamed);
      await readBack(this.#target, streamed.blockHashes, withheld, (share) => {
        this.#context.signal?.throwIfAborted();
        this.#verified = share;
      });
      // 4 only now it may boot
      this.#phase = 'syncing';
      progress.report();
      const gptMoved = makeBootable(this.#target, withheld, this.#request.moveBackupGpt !== false);
      this.#phase = 'done';
      progress.report();
      return this.#summary(streamed, sha256, gptMoved);
    } finally {
      progress.stop();
      await this.#worker?.terminate();
    }
  }

  /** Clusters of a qcow2 image do not come in the order of the disk: its hash is taken from the disk. */
  async #withRawHash(streamed: StreamResult): Promise<StreamResult> {
    if (this.#format !== 'qcow2' || this.#request.expected?.rawSha256 === undefined) return streamed;
    const rawSha256 = await hashFromDisk(this.#target, streamed.rawLength, this.#withheld(streamed));
    return { ...streamed, rawSha256 };
  }

  #withheld({ head, tail, rawLength }: StreamResult): Withheld {
    return {
      head: Buffer.from(head).subarray(0, Math.min(rawLength, HEAD_BYTES)),
      tail: Buffer.from(tail),
      tailAt: this.#withholdFrom,
    };
  }

  async #stream(): Promise<StreamResult> {
    const download = this.#download.run().then(async () => {
      if (this.#state === 'sniffing') await this.#decide();
      this.#ring.end();
    });
    try {
      await Promise.race([download, this.#result.promise.then(() => download)]);
      return await this.#result.promise;
    } catch (thrown) {
      // whichever side failed, the other one stops before the disk is let go
      this.#abort.abort(thrown);
      this.#ring.abort();
      await download.catch(() => {});
      throw thrown;
    }
  }

  /** Bytes of the file, in order. While the format is being found out they wait. */
  #take(bytes: Buffer): number {
    if (this.#state === 'deciding') return 0;
    if (this.#state === 'feeding') return this.#feed(bytes);
    const part = bytes.subarray(0, SNIFF_LENGTH - this.#sniffed.length);
    this.#sniffed = Buffer.concat([this.#sniffed, part]);
    if (this.#sniffed.length === SNIFF_LENGTH) {
      this.#decide().then(
        () => this.#download.resume(),
        (error) => this.#result.reject(error),
      );
    }
    return part.length;
  }

  #feed(bytes: Buffer): number {
    const taken = this.#ring.write(bytes);
    if (taken < bytes.length) {
      const since = performance.now();
      this.#ring.roomFreed().then(() => {
        this.#ringFullMs += performance.now() - since;
        this.#download.resume();
      });
    }
    return taken;
  }

  /** Names the format from the first bytes and starts the thread that decodes it. */
  async #decide(): Promise<void> {
    this.#state = 'deciding';
    const { source, length, ...said } = this.#facts ?? { source: this.#download.source };
    const format = sniffFormat(this.#sniffed);
    this.#format = format;
    const { expected = {} } = this.#request;
    checkFormat(format, expected, { url: source, ...said }, redact(source));
    if (expected.rawLength !== undefined) checkFits(expected.rawLength, this.#target, redact(source));
    if ((format === 'raw' || format === 'iso') && length !== undefined) {
      checkFits(length, this.#target, redact(source));
    }
    this.#start(await this.#chooseDecoding(format, source));
    this.#state = 'feeding';
    this.#feed(this.#sniffed);
  }

  async #chooseDecoding(format: ImageFormat, source: string): Promise<Decoding> {
    switch (format) {
      case 'gz':
      case 'bz2':
      case 'xz':
      case 'zst':
        return { format };
      case 'qcow2': {
        if (!this.#facts?.hasRanges) {
          throw new KindlingError(
            'KND_IMAGE_NEEDS_RANGES',
            `${redact(source)} is a qcow2 image, and its server does not answer Range requests`,
          );
        }
        const read = rangeReader(source, this.#facts.length, {
          request: this.#request,
          signal: this.#abort.signal,
          log: (message) => this.#context.log?.('warn', `tables of the qcow2 image: ${message}`),
        });
        const map = await loadQcow2Map(read, GATE_BYTES);
        checkFits(map.facts.virtualSize, this.#target, redact(source));
        return { format, map };
      }
      default:
        return { format: 'raw' };
    }
  }

  #start(decoding: Decoding): void {
    const request = this.#request;
    const { close: _, ...target } = this.#target;
    const workerData: StreamTask = {
      ring: this.#ringMemory,
      target,
      decoding,
      targetIsZero: request.targetIsZero ?? false,
      wantsRawHash: request.expected?.rawSha256 !== undefined && decoding.format !== 'qcow2',
      hashEvery: { none: 0, sample: SAMPLE_EVERY, all: 1 }[request.readBack ?? 'none'],
    };
    const worker = startWorker('actions/image-writer/stream/stream.worker.ts', { workerData });
    this.#worker = worker;
    worker.on('message', (message: StreamWorkerMessage) => this.#hear(message, worker));
    worker.on('error', (error) => this.#result.reject(error));
    worker.on('exit', () => this.#result.reject(new Error('the thread that writes ended early')));
  }

  #hear(message: StreamWorkerMessage, worker: Worker): void {
    if (message.kind === 'done') {
      this.#result.resolve(message);
    } else if (message.kind === 'failed') {
      this.#result.reject(fromReport(message.error));
    } else {
      this.#openGate(Buffer.from(message.head)).then(
        (answer) => worker.postMessage(answer),
        (error) => this.#result.reject(error),
      );
    }
  }

  /** The last moment before the disk changes: does the image fit, is the disk still the one that was planned? */
  async #openGate(head: Buffer): Promise<GateAnswer> {
    this.#table = await checkHead(head, this.#format ?? 'raw', this.#target, redact(this.#download.source));
    await this.#context.checkTarget?.();
    makeUnbootable(this.#target);
    this.#phase = 'writing';
    this.#withholdFrom = withholdFrom(this.#table ?? {}, this.#target);
    return { withholdFrom: this.#withholdFrom };
  }

  #sample(): ProgressSample {
    const length = this.#download.length;
    return {
      phase: this.#phase,
      bytesFetched: this.#download.bytesFetched,
      bytesRaw: this.#ring.figure('bytesRaw'),
      bytesWritten: this.#ring.figure('bytesWritten'),
      waits: this.#waits(),
      share: length ? this.#download.bytesFetched / length : undefined,
      verified: this.#verified,
      readBack: this.#request.readBack,
      waitingFor: this.#download.waitingFor,
    };
  }

  /** Whoever is waited for is the bottleneck: the ring runs empty (network), full (behind it), or the disk is behind. */
  #waits(): ProgressSample['waits'] {
    const disk = this.#ring.figure('diskWaitMs');
    const network = this.#ring.figure('inputWaitMs');
    return { network, disk, decompression: Math.max(0, this.#ringFullMs - disk) };
  }

  #summary(streamed: StreamResult, sha256: string | undefined, gptMoved: boolean): WriteImageResult {
    const seconds = (performance.now() - this.#startedAt) / 1000;
    const limitedBy = findBottleneck(this.#waits());
    return {
      format: this.#format ?? 'raw',
      source: redact(this.#download.source),
      bytesFetched: this.#download.bytesFetched,
      bytesRaw: streamed.rawLength,
      bytesWritten: this.#ring.figure('bytesWritten'),
      seconds,
      limitedBy,
      ...(sha256 ? { sha256 } : {}),
      resumes: this.#download.resumes,
      gptMoved,
      closingLine: closingLine(streamed.rawLength, seconds, limitedBy),
    };
  }
}

/** Only what will be compared is computed: the hash is a seventh of all the work. */
function wantedHashes({ expected = {} }: WriteImageRequest): ('sha256' | 'sha512')[] {
  return [
    ...(expected.sha256 !== undefined || expected.signers ? (['sha256'] as const) : []),
    ...(expected.sha512 !== undefined ? (['sha512'] as const) : []),
  ];
}
