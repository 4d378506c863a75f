import type { Socket } from 'node:net';

type Peer = Pick<Socket, 'remoteAddress' | 'remotePort'>;

/**
 * Connections that have not asked for anything yet. Each costs memory and may wait for many seconds, and needs no
 * token: when there are too many, the one that was silent longest goes. An honest client asks at once.
 */
export class SilentConnections {
  readonly #most: number;
  /** By the peer's address and port: a TLS socket and the one below it have both in common. Oldest first. */
  readonly #sockets = new Map<string, Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  add(socket: Socket): void {
    const key = keyOf(socket);
    this.#sockets.set(key, socket);
    socket.once('close', () => {
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
    });
    const [oldest] = this.#sockets.keys();
    if (this.#sockets.size > this.#most && oldest !== undefined) {
      this.#sockets.get(oldest)?.destroy();
      this.#sockets.delete(oldest);
    }
  }

  /** It has asked for something: from now on other limits hold. */
  spoke(peer: Peer): void {
    this.#sockets.delete(keyOf(peer));
  }
}

function keyOf({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress} ${remotePort}`;
}
