import { KindlingError } from '../protocol/error.ts';
import { pause } from '../system/wait.ts';
import { type HttpNetwork, type HttpRequest, openResponse } from './http.ts';
import { type BackOff, delayBefore, reconnectBackOff } from './retry.ts';

/** One event of a server (HTML standard, 9.2 "Server-sent events"). */
export interface ServerEvent {
  /** The last id that was named so far, by this event or an earlier one. */
  id: string;
  type: string;
  data: string;
}

/**
 * Takes the stream apart as the HTML standard says (9.2.6): lines that end with CR, LF or both, comments, data of several
 * lines, ids that last until the next one. An event that the end of the stream cuts in two never happened.
 */
export class EventStreamParser {
  /** For the header Last-Event-ID of the next connection. */
  lastId: string;
  /** What the server wants to be waited before it is asked again. */
  retryMs: number | undefined;
  readonly #decoder = new TextDecoder(); // takes off a byte order mark, and keeps half a character for the next piece
  #rest = '';
  #id: string;
  #type = '';
  #data: string[] = [];

  constructor(lastId = '') {
    this.lastId = lastId;
    this.#id = lastId;
  }

  push(bytes: Uint8Array): ServerEvent[] {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    // A CR at the end may be half of a CR LF.
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#takeLine(line) ?? []);
  }

  #takeLine(line: string): ServerEvent | undefined {
    if (line === '') return this.#dispatch();
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'event') this.#type = value;
    if (field === 'data') this.#data.push(value);
    if (field === 'id' && !value.includes('\0')) this.#id = value;
    if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
    return undefined;
  }

  #dispatch(): ServerEvent | undefined {
    const { length } = this.#data;
    const event = { id: this.#id, type: this.#type || 'message', data: this.#data.join('\n') };
    this.lastId = this.#id;
    this.#type = '';
    this.#data = [];
    return length === 0 ? undefined : event;
  }
}

export interface EventStreamOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  code: HttpRequest['code'];
  /** Nothing at all came for so long, not even the comments that servers send to show that they live; 60 s by default. */
  stallMs?: number;
  /** Between two tries; the first pause is the server's `retry`, where it names one. */
  backOff?: BackOff;
  /** Called with every connection that is there, the first one included, before its events. */
  onOpen?: () => void | Promise<void>;
  /** Called when the connection is gone, before the pause. */
  onLost?: (reason: unknown, pauseMs: number) => void;
  /** An answer that is no stream of events, as the error it means. */
  refusal: (status: number, body: string) => Error;
}

/**
 * Events until the signal, over as many connections as it takes: each goes on after the last event of the one before. A server
 * that cannot be reached at the start is an error; later it is waited for, because it was there.
 */
export async function* readEvents(
  network: HttpNetwork,
  url: string | URL,
  options: EventStreamOptions,
): AsyncGenerator<ServerEvent> {
  const { signal, backOff = reconnectBackOff() } = options;
  let lastId = '';
  let retryMs: number | undefined;
  let failures = 0;
  let wasOpen = false;
  while (!signal?.aborted) {
    try {
      const response = await openResponse(network, url, {
        headers: {
          accept: 'text/event-stream',
          ...options.headers,
          ...(lastId === '' ? {} : { 'last-event-id': lastId }),
        },
        signal,
        stallMs: options.stallMs ?? 60_000,
        ...(options.code ? { code: options.code } : {}),
      });
      if (response.status !== 200) throw options.refusal(response.status, await response.text());
      wasOpen = true;
      const parser = new EventStreamParser(lastId);
      await options.onOpen?.();
      for await (const piece of response.pieces()) {
        failures = 0;
        for (const event of parser.push(piece)) {
          yield event;
          lastId = event.id;
        }
        lastId = parser.lastId; // a server may name a place in its stream without an event
        retryMs = parser.retryMs ?? retryMs;
      }
      throw new Error('the server ended the stream');
    } catch (reason) {
      if (signal?.aborted) return;
      const isFinal = reason instanceof KindlingError && !reason.retryable;
      if (!wasOpen || isFinal) throw reason;
      const pauseMs = delayBefore(failures, { ...backOff, firstMs: retryMs ?? backOff.firstMs });
      failures += 1;
      options.onLost?.(reason, pauseMs);
      await pause(pauseMs, signal).catch(() => {});
    }
  }
}
