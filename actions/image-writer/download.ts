import type { Hash } from 'node:crypto';
import { redact } from '../../net/redact.ts';
import { type RetryPolicy, RetryWindow } from '../../net/retry-window.ts';
import { KindlingError } from '../../protocol/error.ts';
import { nodeCrypto } from '../../system/crypto.ts';
import { isContentEncoded } from './formats.ts';
import type { HttpConnection } from './http/connection.ts';
import { get, statusError, UnexpectedStatus } from './http/get.ts';
import { contentLength, type ResponseHead } from './http/response-parser.ts';
import type { Transport } from './interface.ts';
import { STALL_BYTES, StallWatch } from './stall-watch.ts';

export interface DownloadOptions {
  sources: readonly string[];
  transport: Transport;
  retry: RetryPolicy;
  expectedLength?: number | undefined;
  /** Digests that will be asked for; one that nobody wants costs 15 % of the CPU. */
  hashes: readonly ('sha256' | 'sha512')[];
  signal?: AbortSignal | undefined;
  log: (level: 'debug' | 'info' | 'warn', message: string, fields?: Record<string, unknown>) => void;
  /** Takes bytes in order and answers how many; after fewer than given, it calls `resume` when it can take more. */
  onBytes: (bytes: Buffer) => number;
}

/** What the first answer says, before any byte. */
export interface DownloadFacts {
  source: string;
  length?: number | undefined;
  contentEncoding?: string | undefined;
  contentType?: string | undefined;
  /** Whether the server can continue in the middle. */
  hasRanges: boolean;
}

interface Identity {
  etag: string | undefined;
  lastModified: string | undefined;
}

/**
 * One file, fetched in order from byte 0 to its end, over as many connections and mirrors as it takes. A broken
 * connection goes on with Range and If-Range from the last good byte. A server without ranges starts again; the
 * bytes that were had already are compared (by their hash) and dropped, so that nothing downstream starts again.
 */
export class Download {
  readonly #options: DownloadOptions;
  #offset = 0;
  #length: number | undefined;
  #identity = new Map<string, Identity>();
  #isStarted = false;
  /** SHA-256 and whatever else was asked for. SHA-256 also proves, without ranges, that a second download is the same file. */
  #hashes: Map<'sha256' | 'sha512', Hash>;
  #connection: HttpConnection | undefined;
  #paused = false;
  #window: RetryWindow;
  #progressOffset = 0;
  resumes = 0;
  /** Whether the server marked the end of the file (length or chunked), so that an early end cannot pass for it. */
  isEndDefinite = false;
  #waiting: { why: string; since: number } | undefined;
  source: string;
  facts: DownloadFacts;

  constructor(options: DownloadOptions) {
    this.#options = options;
    this.#hashes = new Map(options.hashes.map((name) => [name, nodeCrypto().createHash(name)]));
    this.source = options.sources[0] ?? '';
    this.facts = { source: this.source, hasRanges: false };
    this.#window = this.#openWindow();
  }

  get bytesFetched(): number {
    return this.#offset;
  }

  get length(): number | undefined {
    return this.#length;
  }

  /** Hex digest of everything downloaded, if it was asked for; call once, at the end. */
  digest(name: 'sha256' | 'sha512'): string | undefined {
    return this.#hashes.get(name)?.digest('hex');
  }

  /** "http://mirror2.example/disk.zst since 12 s (connection reset)", while nothing moves. */
  get waitingFor(): string | undefined {
    if (!this.#waiting) return undefined;
    const { why, since } = this.#waiting;
    return `${redact(this.source)} since ${Math.round((performance.now() - since) / 1000)} s (${why})`;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#connection?.resume();
  }

  /** Runs to the end of the file, or throws the error that names why it cannot. */
  async run(): Promise<void> {
    const { signal, log } = this.#options;
    const sources = [...new Set(this.#options.sources)];
    const hopeless = new Set<string>();
    this.#window = this.#openWindow();
    for (let attempt = 0; ; attempt += 1) {
      const usable = sources.filter((candidate) => !hopeless.has(candidate));
      this.source = usable[attempt % usable.length] ?? this.source;
      try {
        await this.#fetchOnce(this.source);
        return;
      } catch (thrown) {
        signal?.throwIfAborted();
        const error = nameDownloadError(thrown, this.source);
        if (isWrongEverywhere(error)) throw error;
        if (!isWorthAsking(error) || isWrongThere(error)) hopeless.add(this.source);
        const isHopeless = hopeless.size === sources.length;
        if (!this.#window.mayAskAgain(isHopeless) || isHopeless) throw error;
        if (this.#offset > 0) this.resumes += 1;
        this.#waiting = { why: error.message, since: this.#window.since };
        log('warn', `download interrupted at byte ${this.#offset}: ${error.message}; trying again`, {
          code: error.code,
          source: redact(this.source),
        });
        await this.#window.pause();
      } finally {
        this.#connection?.destroy();
        this.#connection = undefined;
      }
    }
  }

  #openWindow(): RetryWindow {
    const { retry, sources, signal } = this.#options;
    return new RetryWindow({ policy: retry, sources: new Set(sources).size, signal });
  }

  async #fetchOnce(source: string): Promise<void> {
    const { transport, signal } = this.#options;
    const known = this.#identity.get(source);
    const headers: Record<string, string> = {};
    if (this.#offset > 0) {
      headers['range'] = `bytes=${this.#offset}-`;
      // RFC 9110 13.1.5: a weak validator must not be used in If-Range
      const validator = known?.etag && !known.etag.startsWith('W/') ? known.etag : known?.lastModified;
      if (validator) headers['if-range'] = validator;
    }
    const watch = new StallWatch(transport.stallTimeoutMs, () => this.#paused);
    const startOffset = this.#offset;
    // a connection that this attempt is still making must not bring bytes into the next one
    const attempt = new AbortController();
    let hasBody = false;
    let end: number | undefined;
    try {
      const work = get(source, {
        transport,
        headers,
        signal: AbortSignal.any([attempt.signal, ...(signal ? [signal] : [])]),
        onConnection: (connection) => {
          this.#connection = connection;
        },
        onHead: (head) => {
          const sink = this.#acceptHead(head, source);
          end = this.#length;
          hasBody = true;
          this.isEndDefinite = end !== undefined || head.headers['transfer-encoding'] !== undefined;
          return (bytes) => {
            const taken = sink(bytes);
            watch.count(taken);
            this.#paused = taken < bytes.length;
            this.#waiting = undefined;
            return taken;
          };
        },
      });
      const abort = new Promise<never>((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      await Promise.race([work, watch.stalled, abort]);
    } catch (thrown) {
      attempt.abort(thrown);
      if (thrown instanceof KindlingError || signal?.aborted || !hasBody) throw thrown;
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      throw new KindlingError(
        'KND_IMAGE_TRUNCATED',
        `${redact(source)} broke off at byte ${this.#offset} of ${end ?? 'unknown'}: ${message}`,
        { cause: thrown },
      );
    } finally {
      watch.stop();
    }
    if (end !== undefined && this.#offset < end) {
      throw new KindlingError(
        'KND_IMAGE_TRUNCATED',
        `${redact(source)} ended at byte ${this.#offset} of ${end}`,
      );
    }
    if (!this.isEndDefinite && startOffset > 0 && this.#offset === startOffset) {
      throw new KindlingError('KND_IMAGE_TRUNCATED', `${redact(source)} ended at byte ${this.#offset}`);
    }
    this.#length ??= this.#offset;
  }

  /** Judges an answer before its body; gives the taker of the body. */
  #acceptHead(head: ResponseHead, source: string): (bytes: Buffer) => number {
    const { status, headers } = head;
    if (status === 416 && this.#offset > 0) return this.#acceptEnd(headers, source);
    if (status !== 200 && status !== 206) throw statusError(status, source);
    const isPartial = status === 206;
    const range = isPartial ? parseContentRange(headers['content-range'], source) : undefined;
    if (range && range.start !== this.#offset) {
      throw new KindlingError(
        'KND_IMAGE_SERVER_ERROR',
        `${redact(source)} was asked for byte ${this.#offset} and sent byte ${range.start}`,
      );
    }
    const announced = isPartial ? range?.total : contentLength(headers);
    const knownTag = this.#identity.get(source)?.etag;
    this.#checkIdentity(headers, announced, source);
    if (this.#isStarted) this.#length ??= announced; // the first answer may have been chunked, without a length
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.#length =
        announced ??
        (isContentEncoded(headers['content-encoding']) ? undefined : this.#options.expectedLength);
      const hasRanges = isPartial || /\bbytes\b/.test(headers['accept-ranges'] ?? '');
      if (!hasRanges && !this.#hashes.has('sha256'))
        this.#hashes.set('sha256', nodeCrypto().createHash('sha256'));
      const { 'content-encoding': contentEncoding, 'content-type': contentType } = headers;
      this.facts = { source, length: this.#length, contentEncoding, contentType, hasRanges };
    }
    if (isPartial || this.#offset === 0) return (bytes) => this.#take(bytes);
    this.#options.log(
      'warn',
      `${redact(source)} cannot continue in the middle; downloading again from the start`,
    );
    return this.#dropPrefix(source, knownTag === headers['etag'] ? knownTag : undefined);
  }

  #checkIdentity(headers: ResponseHead['headers'], announced: number | undefined, source: string): void {
    const { expectedLength } = this.#options;
    // The length of a compressed answer is not that of the file: what is inside is measured at the end.
    const isPlain = !isContentEncoded(headers['content-encoding']);
    if (isPlain && announced !== undefined && expectedLength !== undefined && announced !== expectedLength) {
      throw new KindlingError(
        'KND_IMAGE_LENGTH',
        `${redact(source)} is ${announced} bytes long, expected were ${expectedLength}`,
      );
    }
    if (announced !== undefined && this.#length !== undefined && announced !== this.#length) {
      throw new KindlingError(
        'KND_IMAGE_CHANGED',
        `${redact(source)} was ${this.#length} bytes long and is now ${announced}`,
      );
    }
    const found: Identity = { etag: headers['etag'], lastModified: headers['last-modified'] };
    const known = this.#identity.get(source);
    if (known?.etag !== undefined && found.etag !== undefined && known.etag !== found.etag) {
      throw new KindlingError(
        'KND_IMAGE_CHANGED',
        `${redact(source)} changed while it was downloaded (ETag ${known.etag}, now ${found.etag})`,
      );
    }
    const hasNoTags = known?.etag === undefined && found.etag === undefined;
    const isOther = known?.lastModified !== found.lastModified;
    if (hasNoTags && known?.lastModified !== undefined && found.lastModified !== undefined && isOther) {
      throw new KindlingError(
        'KND_IMAGE_CHANGED',
        `${redact(source)} changed while it was downloaded (of ${known.lastModified}, now of ${found.lastModified})`,
      );
    }
    if (!known) this.#identity.set(source, found);
  }

  /** 416: there is nothing behind what we have. That is the end if nobody announced another one. */
  #acceptEnd(headers: ResponseHead['headers'], source: string): (bytes: Buffer) => number {
    const total = /\*\/(\d+)/.exec(headers['content-range'] ?? '')?.[1];
    if (this.#length === undefined && Number(total) === this.#offset) {
      this.#length = this.#offset;
      return (bytes) => bytes.length;
    }
    throw new KindlingError(
      'KND_IMAGE_LENGTH',
      `${redact(source)} announced ${this.#length ?? 'no'} bytes but has ${total ?? this.#offset}`,
    );
  }

  #take(bytes: Buffer): number {
    const taken = this.#options.onBytes(bytes);
    if (taken > 0) {
      const part = taken === bytes.length ? bytes : bytes.subarray(0, taken);
      for (const hash of this.#hashes.values()) hash.update(part);
      this.#offset += taken;
      // a trickle is no progress: otherwise a server that drips would keep us for ever
      if (this.#offset - this.#progressOffset >= STALL_BYTES) {
        this.#progressOffset = this.#offset;
        this.#window.progressed();
      }
    }
    return taken;
  }

  /** Drops the bytes we had already, then goes on with the rest. They are the same by their hash, or by the server's strong tag. */
  #dropPrefix(source: string, sameTag: string | undefined): (bytes: Buffer) => number {
    const had = this.#offset;
    const expected = this.#hashes.get('sha256')?.copy().digest('hex');
    if (expected === undefined && (sameTag === undefined || sameTag.startsWith('W/'))) {
      throw new KindlingError(
        'KND_IMAGE_SERVER_ERROR',
        `${redact(source)} announced ranges and does not give them`,
      );
    }
    const again = nodeCrypto().createHash('sha256');
    let dropped = 0;
    return (bytes) => {
      if (dropped === had) return this.#take(bytes);
      const part = bytes.subarray(0, Math.min(bytes.length, had - dropped));
      again.update(part);
      dropped += part.length;
      if (dropped === had && expected !== undefined && again.digest('hex') !== expected) {
        throw new KindlingError(
          'KND_IMAGE_CHANGED',
          `${redact(source)} has other content than it had before`,
        );
      }
      return part.length === bytes.length
        ? part.length
        : part.length + this.#take(bytes.subarray(part.length));
    };
  }
}

/** No other source can help: the request itself is at fault. */
const isWrongEverywhere = ({ code }: KindlingError): boolean =>
  code === 'KND_USAGE' || code === 'KND_IMAGE_CONTRADICTION';

/**
 * An answer that may be another one later. EMF's contract asks again after every status until its window is over: an image may still be
 * on its way to the server, or the right to fetch it.
 */
export const isWorthAsking = (error: KindlingError): boolean =>
  error.retryable || error instanceof UnexpectedStatus;

/** The file at this source is at fault, not the way to it: it will be the same on every try. */
const isWrongThere = ({ code }: KindlingError): boolean =>
  code === 'KND_IMAGE_CHANGED' || code === 'KND_IMAGE_LENGTH';

/** Gives a code to whatever broke on the way. */
export function nameDownloadError(thrown: unknown, source: string): KindlingError {
  if (thrown instanceof KindlingError) return thrown;
  const message = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  return new KindlingError('KND_IMAGE_UNREACHABLE', `${redact(source)}: ${message}`, { cause: thrown });
}

function parseContentRange(
  value: string | undefined,
  source: string,
): { start: number; total: number | undefined } {
  const match = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(value ?? '');
  if (!match) {
    throw new KindlingError(
      'KND_IMAGE_SERVER_ERROR',
      `${redact(source)} sent 206 with Content-Range "${value ?? ''}"`,
    );
  }
  return { start: Number(match[1]), total: match[2] === '*' ? undefined : Number(match[2]) };
}
