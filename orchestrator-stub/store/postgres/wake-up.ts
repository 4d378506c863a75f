import pg from 'pg';
import { type DatabaseAddress, toClientConfig } from './address.ts';

/** How often it is looked for news without being woken: where the server cannot wake, or the connection is just being made anew. */
const LOOK_MS = 1000;

/** Calls `onNews` when another process has committed messages, and every second in any case. */
export class WakeUp {
  readonly #address: DatabaseAddress;
  readonly #onNews: () => void;
  #timer: NodeJS.Timeout | undefined;
  #client: pg.Client | undefined;

  constructor(address: DatabaseAddress, onNews: () => void) {
    this.#address = address;
    this.#onNews = onNews;
  }

  start(): void {
    if (this.#timer) return;
    this.#listen();
    this.#timer = setInterval(() => {
      this.#listen();
      this.#onNews();
    }, LOOK_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  /** A failure is no news: the next look tries again. */
  #listen(): void {
    if (this.#client) return;
    const client = new pg.Client(toClientConfig(this.#address));
    this.#client = client;
    const drop = () => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on('error', drop);
    client.on('end', drop);
    client.on('notification', this.#onNews);
    client
      .connect()
      .then(() => client.query('LISTEN kindling_outbox'))
      .catch(() => {
        drop();
        return client.end().catch(() => {});
      });
  }
}
