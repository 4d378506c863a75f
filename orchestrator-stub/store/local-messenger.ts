import { Listeners } from './listeners.ts';
import type { Heard, Message, Messenger, Recalled, Topic } from './messages.ts';

/** The messages of a site that is one process: they are numbered and passed on, and kept nowhere. */
export class LocalMessenger implements Messenger {
  readonly #listeners: Listeners;
  // Starts from the clock so that ids keep growing across restarts and a stale Last-Event-ID is recognized.
  #lastId = Date.now() * 1000;

  constructor(onDefect: (thrown: unknown) => void) {
    this.#listeners = new Listeners(onDefect);
  }

  get lastId(): number {
    return this.#lastId;
  }

  tell(message: Message): void {
    this.#lastId += 1;
    this.#listeners.pass(message, { id: this.#lastId, isOwn: true });
  }

  hear(topic: Topic, listener: (body: unknown, heard: Heard) => void): void {
    this.#listeners.add(topic, listener);
  }

  async recall<Body>(): Promise<Recalled<Body>> {
    return { messages: [], forgottenId: this.#lastId };
  }
}
