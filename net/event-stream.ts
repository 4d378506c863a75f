import { KindlingError } from '../protocol/error.ts';
import { EventStreamParser, type ServerEvent } from '../protocol/event-stream.ts';
import { pause } from '../system/wait.ts';
import { type HttpNetwork, type HttpRequest, openResponse } from './http.ts';
import { type BackOff, delayBefore, reconnectBackOff } from './retry.ts';

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
