import { redact } from '../../net/redact.ts';
import { Download } from './download.ts';
import { isContentEncoded } from './formats.ts';
import type { ImageBody, ImageFigures } from './image-write.ts';
import type { ImageFormat, WriteImageContext, WriteImageRequest } from './interface.ts';
import { hashFromDisk, readBack } from './read-back.ts';
import { recognizeImage } from './recognize-image.ts';
import { checkSignature, fetchSignature } from './signature.ts';
import { Intake } from './stream/intake.ts';
import { createRingMemory, RingWriter } from './stream/ring.ts';
import type { StreamResult, StreamTask } from './stream/stream-task.ts';
import { StreamThread } from './stream/stream-thread.ts';
import type { Target } from './target/target.ts';
import type { Withheld } from './target/withheld.ts';
import { checkEnd, verifyImage } from './verify-image.ts';

/** Every 16th block of 4 MiB is read back when a sample is asked for. */
const SAMPLE_EVERY = 16;

/** A file that is streamed: this thread fetches and hashes it into the ring, another decodes it and writes. */
export class PlainImage implements ImageBody {
  readonly #request: WriteImageRequest;
  readonly #context: WriteImageContext;
  readonly #target: Target;
  readonly #ringMemory = createRingMemory();
  readonly #ring = new RingWriter(this.#ringMemory);
  readonly #intake = new Intake(this.#ring, () => this.#download.resume());
  readonly #abort = new AbortController();
  readonly #download: Download;
  #downloaded: Promise<void> = Promise.resolve();
  #signature: Buffer | undefined;
  #format: ImageFormat = 'raw';
  #thread: StreamThread | undefined;
  #streamed: StreamResult = { rawLength: 0, rawSha256: undefined, blockHashes: [] };
  #sha256: string | undefined;
  #verified = 0;

  constructor(request: WriteImageRequest, context: WriteImageContext, target: Target) {
    this.#request = request;
    this.#context = context;
    this.#target = target;
    this.#download = new Download({
      sources: request.sources,
      transport: request.transport ?? {},
      retry: request.retry ?? {},
      expectedLength: request.expected?.length,
      hashes: wantedHashes(request),
      signal: AbortSignal.any([this.#abort.signal, ...(context.signal ? [context.signal] : [])]),
      log: context.log ?? (() => {}),
      onBytes: (bytes) => this.#intake.take(bytes),
    });
  }

  get source(): string {
    return redact(this.#download.source);
  }

  async readHead(): Promise<{ head: Buffer; format: ImageFormat }> {
    const { expected } = this.#request;
    this.#signature = expected?.signers && (await fetchSignature(this.#request, this.#context));
    this.#downloaded = this.#download.run().then(() => this.#intake.end());
    const first = await this.#unlessDownloadFails(this.#intake.first);
    const { format, decoding } = await this.#unlessDownloadFails(
      recognizeImage(first, {
        facts: this.#download.facts,
        request: this.#request,
        target: this.#target,
        signal: this.#abort.signal,
        onRetry: (message) => this.#context.log?.('warn', `tables of the qcow2 image: ${message}`),
      }),
    );
    this.#format = format;
    this.#thread = new StreamThread(this.#task(decoding));
    this.#intake.open();
    return { head: await this.#unlessDownloadFails(this.#thread.head), format };
  }

  checkEnd(neededBytes: number): void {
    const { isEndDefinite } = this.#download;
    const { source } = this;
    checkEnd(this.#request.expected ?? {}, { source, format: this.#format, isEndDefinite, neededBytes });
  }

  lookAtDisk() {
    return { isIntact: false, keptUntil: 0 };
  }

  async write(withheld: Withheld): Promise<number> {
    const thread = this.#thread;
    if (!thread) throw new Error('the head of the image was not read');
    thread.open(withheld);
    this.#streamed = await this.#unlessDownloadFails(thread.done);
    await this.#downloaded;
    return this.#streamed.rawLength;
  }

  async verify(withheld: Withheld, neededBytes: number): Promise<void> {
    const { expected = {} } = this.#request;
    const { rawLength, blockHashes } = this.#streamed;
    this.#sha256 = this.#download.digest('sha256');
    verifyImage(expected, {
      source: this.source,
      format: this.#format,
      bytesFetched: this.#download.bytesFetched,
      isEndDefinite: this.#download.isEndDefinite,
      sha256: this.#sha256,
      sha512: this.#download.digest('sha512'),
      rawLength,
      rawSha256: await this.#rawSha256(withheld),
      isEncoded: this.#isEncoded,
      neededBytes,
    });
    if (expected.signers && this.#signature !== undefined) {
      const hashes = [this.#sha256, this.#isEncoded ? this.#streamed.rawSha256 : undefined];
      checkSignature(expected.signers, this.#download.source, hashes, this.#signature);
    }
    await readBack(this.#target, blockHashes, withheld, (share) => {
      this.#context.signal?.throwIfAborted();
      this.#verified = share;
    });
  }

  async close(): Promise<void> {
    this.#abort.abort(new Error('the write of the image has ended'));
    this.#ring.abort();
    await this.#downloaded.catch(() => {});
    await this.#thread?.stop();
  }

  figures(): ImageFigures {
    const { length, bytesFetched, waitingFor } = this.#download;
    return {
      bytesFetched,
      bytesRaw: this.#ring.figure('bytesRaw'),
      bytesWritten: this.#ring.figure('bytesWritten'),
      waits: this.#waits(),
      share: length ? bytesFetched / length : undefined,
      verified: this.#verified,
      waitingFor,
    };
  }

  outcome() {
    return {
      format: this.#format,
      source: this.source,
      bytesRaw: this.#streamed.rawLength,
      resumes: this.#download.resumes,
      ...(this.#sha256 ? { sha256: this.#sha256 } : {}),
    };
  }

  #task(decoding: StreamTask['decoding']): StreamTask {
    const { targetIsZero = false, readBack: amount = 'none', expected } = this.#request;
    const { close: _, ...target } = this.#target;
    return {
      ring: this.#ringMemory,
      target,
      decoding,
      targetIsZero,
      wantsRawHash:
        (expected?.rawSha256 !== undefined && decoding.format !== 'qcow2') ||
        (this.#isEncoded && (expected?.sha256 !== undefined || expected?.signers !== undefined)),
      hashEvery: { none: 0, sample: SAMPLE_EVERY, all: 1 }[amount],
    };
  }

  /** Compressed by the server on the way: then a hash may be that of the file inside. */
  get #isEncoded(): boolean {
    return isContentEncoded(this.#download.facts.contentEncoding);
  }

  /** Clusters of a qcow2 image do not come in the order of the disk: its hash is taken from the disk. */
  async #rawSha256(withheld: Withheld): Promise<string | undefined> {
    const { rawLength, rawSha256 } = this.#streamed;
    if (this.#format !== 'qcow2' || this.#request.expected?.rawSha256 === undefined) return rawSha256;
    return hashFromDisk(this.#target, rawLength, withheld);
  }

  /** Everything waits for bytes in the end: what stops them is the failure to tell. */
  #unlessDownloadFails<T>(result: Promise<T>): Promise<T> {
    return Promise.race([result, this.#downloaded.then(() => result)]);
  }

  /** What is waited for is the bottleneck: the ring runs empty (network), full (behind it), or the disk is behind. */
  #waits(): ImageFigures['waits'] {
    const disk = this.#ring.figure('diskWaitMs');
    const network = this.#ring.figure('inputWaitMs');
    return { network, disk, decompression: Math.max(0, this.#intake.fullMs - disk) };
  }
}

/** Only what will be compared is computed: the hash is a seventh of all the work. */
function wantedHashes({ expected = {} }: WriteImageRequest): ('sha256' | 'sha512')[] {
  return [
    ...(expected.sha256 !== undefined || expected.signers ? (['sha256'] as const) : []),
    ...(expected.sha512 !== undefined ? (['sha512'] as const) : []),
  ];
}
