import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What becomes of the next piece. A held answer never ends: the other side waits until somebody dies. */
export type Fate = 'send' | 'hold' | 'cut';

/** Serves files from memory piece by piece, by Range too, so that a test can act at an exact byte. */
export class PiecewiseServer {
  /** By the last part of the path: what comes before it tells one run from another. */
  readonly files = new Map<string, Buffer>();
  /** Asked before every piece, with the path and how much of it has been served so far, over all requests. */
  fateOf: (path: string, served: number) => Fate = () => 'send';
  /** Told after every piece. */
  onServed: () => void = () => {};
  readonly #pieceBytes: number;
  readonly #served = new Map<string, number>();
  readonly #server: Server;
  #port = 0;

  private constructor(pieceBytes: number) {
    this.#pieceBytes = pieceBytes;
    this.#server = createServer((request, response) =>
      this.#serve(request.url ?? '', request.headers.range, response),
    );
  }

  static async start(pieceBytes: number): Promise<PiecewiseServer> {
    const server = new PiecewiseServer(pieceBytes);
    await server.listen();
    return server;
  }

  /** Also after `close`: on the same port as before. */
  async listen(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await new Promise((resolve) => this.#server.once('listening', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  lengthOf(name: string): number {
    return this.files.get(name)?.length ?? 0;
  }

  /** Bytes served so far: of one path, or of all. */
  served(path?: string): number {
    if (path !== undefined) return this.#served.get(path) ?? 0;
    return [...this.#served.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  #serve(path: string, rangeHeader: string | undefined, response: ServerResponse): void {
    const bytes = this.files.get(path.split('/').at(-1) ?? '');
    if (!bytes) return void response.writeHead(404).end();
    const range = /bytes=(\d+)-(\d*)/.exec(rangeHeader ?? '');
    const start = range ? Number(range[1]) : 0;
    const end = range?.[2] ? Number(range[2]) + 1 : bytes.length;
    response.writeHead(range ? 206 : 200, {
      etag: '"one"',
      'accept-ranges': 'bytes',
      'content-length': end - start,
      ...(range ? { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` } : {}),
    });
    const send = (at: number) => {
      if (at >= end || response.destroyed) return void response.end();
      const before = this.served(path);
      const fate = this.fateOf(path, before);
      if (fate === 'cut') return void response.destroy();
      if (fate === 'hold') return;
      const piece = bytes.subarray(at, Math.min(at + this.#pieceBytes, end));
      this.#served.set(path, before + piece.length);
      response.write(piece, () => {
        this.onServed();
        send(at + piece.length);
      });
    };
    send(start);
  }
}
