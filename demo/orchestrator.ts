import type { StubEvent } from '../orchestrator-stub/events/bus.ts';
import { KindlingError } from '../protocol/error.ts';

/** The orchestrator's API, as far as the demo uses it. */
export class Orchestrator {
  readonly #url: string;
  readonly #authorization: Record<string, string>;

  constructor(url: string, operatorToken?: string) {
    this.#url = url;
    this.#authorization = operatorToken ? { authorization: `Bearer ${operatorToken}` } : {};
  }

  async send<T>(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { ...this.#authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = await response.text();
    if (!response.ok)
      throw new KindlingError(
        'KND_UNEXPECTED',
        `the orchestrator answered ${method} ${path} with ${response.status}: ${answer}`,
      );
    return JSON.parse(answer) as T;
  }

  /** Calls `onEvent` for every event the orchestrator tells its watchers (server-sent events), until aborted. */
  async watch(onEvent: (event: StubEvent) => void, signal: AbortSignal): Promise<void> {
    const response = await fetch(`${this.#url}/api/v1/events`, { signal, headers: this.#authorization });
    if (!response.ok || !response.body)
      throw new KindlingError('KND_UNEXPECTED', `the orchestrator tells no events: ${response.status}`);
    let text = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const messages = text.split('\n\n');
      text = messages.pop() ?? '';
      for (const message of messages) {
        const data = message.split('\n').find((line) => line.startsWith('data: '));
        if (data) onEvent(JSON.parse(data.slice('data: '.length)) as StubEvent);
      }
    }
  }
}
