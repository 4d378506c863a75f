import type { Heard, Message, Topic } from './messages.ts';

type Listener = (body: unknown, heard: Heard) => void;

/** Who hears which topic in this process. */
export class Listeners {
  readonly #onDefect: (thrown: unknown) => void;
  readonly #ofTopic = new Map<Topic, Listener[]>();

  constructor(onDefect: (thrown: unknown) => void) {
    this.#onDefect = onDefect;
  }

  add(topic: Topic, listener: Listener): void {
    const listeners = this.#ofTopic.get(topic);
    if (listeners) listeners.push(listener);
    else this.#ofTopic.set(topic, [listener]);
  }

  /** A listener's fault must not look like a fault of the change, which is done. */
  pass({ topic, body }: Message, heard: Heard): void {
    for (const listener of this.#ofTopic.get(topic) ?? []) {
      try {
        listener(body, heard);
      } catch (thrown) {
        this.#onDefect(thrown);
      }
    }
  }
}
