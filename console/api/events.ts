import { EventStreamParser, type ServerEvent } from '../../protocol/event-stream.ts';
import { openStream } from './call.ts';

/** The server says something every 15 s, if only that it is still here. */
const SILENCE_MS = 40_000;

/** Events until the connection ends, which is an error: the caller decides what to do then. */
export async function* readEvents(
  path: string,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent, never, undefined> {
  const silence = new AbortController();
  const both = AbortSignal.any([signal, silence.signal]);
  const response = await openStream(path, both);
  const reader = response.body?.getReader();
  if (!reader) throw new Error('the answer has no body');
  const parser = new EventStreamParser();
  try {
    for (;;) {
      const timer = setTimeout(() => silence.abort(), SILENCE_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) throw new Error('the server ended the stream');
      yield* parser.push(value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
