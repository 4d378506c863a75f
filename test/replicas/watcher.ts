import { request } from 'node:http';

export interface WatchedEvent {
  id: number;
  type: string;
  data: Record<string, unknown>;
}

/** A person who watches: when the connection is cut it goes on elsewhere, with the last event it has seen. */
export class Watcher {
  readonly events: WatchedEvent[] = [];
  #lastId: number | undefined;
  #stop: (() => void) | undefined;

  /** Watches this replica from now on, and is there when the promise resolves. */
  async watch(port: number): Promise<void> {
    this.#stop?.();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const headers = this.#lastId === undefined ? {} : { 'last-event-id': String(this.#lastId) };
    const call = request(
      { host: '127.0.0.1', port, path: '/api/v1/events', headers, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          const blocks = text.split('\n\n');
          text = blocks.pop() ?? '';
          for (const block of blocks) this.#take(block);
          resolve();
        });
        // The replica was killed: the watcher goes elsewhere.
        response.on('error', () => {});
      },
    );
    call.on('error', reject);
    call.end();
    this.#stop = () => call.destroy();
    await promise;
  }

  stop(): void {
    this.#stop?.();
  }

  #take(block: string): void {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
    const id = field('id');
    if (id !== undefined) this.#lastId = Number(id);
    const data = field('data');
    if (id === undefined || data === undefined) return;
    this.events.push({ id: Number(id), type: field('event') ?? '', data: JSON.parse(data) });
  }
}
