import { KindlingError } from '../../../protocol/error.ts';

/** Status line and headers of one response; header names in lower case, repeated ones joined with commas. */
export interface ResponseHead {
  status: number;
  headers: Readonly<Record<string, string>>;
}

/** Takes body bytes and answers how many it took; fewer than given means: pause. */
export type BodySink = (bytes: Buffer) => number;

type State =
  | 'head'
  | 'length'
  | 'chunk-size'
  | 'chunk-data'
  | 'chunk-end'
  | 'trailer'
  | 'until-close'
  | 'done';

const MAX_HEAD = 64 * 1024;

/**
 * An HTTP/1.1 response, parsed as it arrives in one fixed receive buffer (RFC 9112). Own code because the
 * clients of Node cost as much CPU as the decompression itself: they allocate for every piece of body.
 */
export class ResponseParser {
  #state: State = 'head';
  #line = '';
  #left = 0;
  #isHead: boolean;
  #onHead: (head: ResponseHead) => BodySink;
  #sink: BodySink = (bytes) => bytes.length;
  /** Whether the connection can take another request after this response. */
  canKeepAlive = true;

  constructor(onHead: (head: ResponseHead) => BodySink, isHead = false) {
    this.#onHead = onHead;
    this.#isHead = isHead;
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** Whether the end of the connection is the end of the body (no length was announced). */
  get endsWithConnection(): boolean {
    return this.#state === 'until-close';
  }

  /** Whether everything that comes next is body, up to its end. */
  get isInBody(): boolean {
    return this.#state === 'length';
  }

  /** Eats bytes and answers how many; fewer than given means that the body's taker wants a pause, or that it is done. */
  push(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && this.#state !== 'done') {
      if (this.#state === 'length' || this.#state === 'chunk-data' || this.#state === 'until-close') {
        const piece =
          this.#state === 'until-close' ? bytes.length - at : Math.min(this.#left, bytes.length - at);
        const taken = this.#sink(at === 0 && piece === bytes.length ? bytes : bytes.subarray(at, at + piece));
        at += taken;
        this.#left -= taken;
        if (taken < piece) return at;
        if (this.#left === 0 && this.#state !== 'until-close') {
          this.#state = this.#state === 'length' ? 'done' : 'chunk-end';
        }
      } else {
        const end = bytes.indexOf(0x0a, at);
        const stop = end < 0 ? bytes.length : end + 1;
        this.#line += bytes.toString('latin1', at, stop);
        if (this.#line.length > MAX_HEAD) throw new Error('the server sent more than 64 KiB of headers');
        at = stop;
        if (end >= 0) this.#takeLine();
      }
    }
    return at;
  }

  #takeLine(): void {
    if (this.#state === 'head') {
      // the head ends with an empty line; until then lines pile up
      if (!this.#line.endsWith('\r\n\r\n') && !this.#line.endsWith('\n\n')) return;
      const head = parseHead(this.#line);
      this.#line = '';
      if (head.status >= 100 && head.status < 200) return;
      this.#startBody(head);
      return;
    }
    const line = this.#line.replace(/\r?\n$/, '');
    this.#line = '';
    if (this.#state === 'chunk-size') {
      const size = /^([0-9a-f]+)\s*(;.*)?$/i.exec(line)?.[1] ?? '';
      this.#left = Number.parseInt(size, 16);
      if (!Number.isSafeInteger(this.#left)) throw new Error(`bad chunk size "${line.slice(0, 20)}"`);
      this.#state = this.#left === 0 ? 'trailer' : 'chunk-data';
    } else if (this.#state === 'chunk-end') {
      // bytes the chunk's size did not count: to skip them would leave a hole in the image
      if (line !== '') throw new Error('a chunk is longer than its size says');
      this.#state = 'chunk-size';
    } else if (this.#state === 'trailer' && line === '') {
      this.#state = 'done';
    }
  }

  #startBody(head: ResponseHead): void {
    const { headers, status } = head;
    const length = contentLength(headers);
    this.canKeepAlive = !/\bclose\b/i.test(headers['connection'] ?? '');
    this.#sink = this.#onHead(head);
    if (this.#isHead || status === 204 || status === 304) {
      this.#state = 'done';
    } else if (/\bchunked\b/i.test(headers['transfer-encoding'] ?? '')) {
      this.#state = 'chunk-size';
    } else if (length !== undefined) {
      this.#left = length;
      this.#state = length === 0 ? 'done' : 'length';
    } else {
      this.canKeepAlive = false;
      this.#state = 'until-close';
    }
  }
}

/** RFC 9110 8.6: the same value may be repeated; anything else that is not one number is a wrong length. */
export function contentLength(headers: ResponseHead['headers']): number | undefined {
  const text = headers['content-length'];
  if (text === undefined || headers['transfer-encoding'] !== undefined) return undefined;
  const [value = '', ...others] = text.split(/\s*,\s*/);
  const length = Number(value);
  if (/^\d+$/.test(value) && Number.isSafeInteger(length) && others.every((other) => other === value)) {
    return length;
  }
  throw new KindlingError('KND_IMAGE_LENGTH', `the server sent Content-Length "${text.slice(0, 40)}"`);
}

function parseHead(text: string): ResponseHead {
  const [statusLine = '', ...lines] = text.split(/\r?\n/);
  const match = /^HTTP\/1\.[01] (\d{3})/.exec(statusLine);
  if (!match) throw new Error(`not an HTTP/1 answer: "${statusLine.slice(0, 40)}"`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return { status: Number(match[1]), headers };
}
