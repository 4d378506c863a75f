import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { makeFolder, removeFolder } from '../qemu/processes.ts';

const SOCKET = '.s.PGSQL.5432';

/** The way to a PostgreSQL server, which a test cuts where it wants to. */
export class CuttableProxy implements AsyncDisposable {
  readonly folder = makeFolder('proxy');
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  #lost: { text: string; isRequest: boolean } | undefined;

  private constructor(target: string) {
    this.#server = createServer((client) => this.#lead(client, join(target, SOCKET)));
  }

  /** `target` is the folder with the server's socket. */
  static async start(target: string): Promise<CuttableProxy> {
    const proxy = new CuttableProxy(target);
    const { promise, resolve } = Promise.withResolvers<void>();
    proxy.#server.listen(join(proxy.folder, SOCKET), resolve);
    await promise;
    return proxy;
  }

  /** Nothing goes through any more, and nobody gets in. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  /** The next statement with this text reaches the server, and its answer does not come back. */
  loseAnswerTo(text: string): void {
    this.#lost = { text, isRequest: false };
  }

  /** The next statement with this text does not reach the server. */
  loseRequest(text: string): void {
    this.#lost = { text, isRequest: true };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await promise;
    removeFolder(this.folder);
  }

  #lead(client: Socket, target: string): void {
    if (this.#isCut) {
      client.destroy();
      return;
    }
    const server = connect(target);
    let isAnswerLost = false;
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', end);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    client.on('data', (data: Buffer) => {
      const lost = this.#lost;
      if (lost && data.includes(lost.text)) {
        this.#lost = undefined;
        if (lost.isRequest) return end();
        isAnswerLost = true;
      }
      server.write(data);
    });
    server.on('data', (data: Buffer) => {
      if (isAnswerLost) end();
      else client.write(data);
    });
  }
}
