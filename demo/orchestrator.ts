import { readEvents } from '../net/event-stream.ts';
import { fetchText } from '../net/http.ts';
import type { StubEvent } from '../orchestrator-stub/events/bus.ts';
import { KindlingError } from '../protocol/error.ts';

/** The orchestrator's API, as far as the demo uses it. */
export class Orchestrator {
  readonly #network = {};
  readonly #url: string;
  readonly #authorization: Record<string, string>;

  constructor(url: string, operatorToken?: string) {
    this.#url = url;
    this.#authorization = operatorToken ? { authorization: `Bearer ${operatorToken}` } : {};
  }

  async send<T>(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<T> {
    const { status, body: answer } = await fetchText(this.#network, `${this.#url}${path}`, {
      method,
      headers: { ...this.#authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      code: 'KND_STUB_UNREACHABLE',
    });
    if (status >= 400)
      throw new KindlingError(
        'KND_UNEXPECTED',
        `the orchestrator answered ${method} ${path} with ${status}: ${answer}`,
      );
    return JSON.parse(answer) as T;
  }

  /** Calls `onEvent` for every event the orchestrator tells its watchers (server-sent events), until aborted. */
  async watch(onEvent: (event: StubEvent) => void, signal: AbortSignal): Promise<void> {
    const events = readEvents(this.#network, `${this.#url}/api/v1/events`, {
      headers: this.#authorization,
      signal,
      code: 'KND_STUB_UNREACHABLE',
      refusal: (status) => new KindlingError('KND_UNEXPECTED', `the orchestrator tells no events: ${status}`),
    });
    for await (const { data } of events) onEvent(JSON.parse(data) as StubEvent);
  }
}
