import { connect as connectTcp, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { proxyFor } from '../../../net/proxy.ts';
import { KindlingError } from '../../../protocol/error.ts';
import type { Transport } from '../interface.ts';
import { type BodySink, type ResponseHead, ResponseParser } from './response-parser.ts';

const RECEIVE_BUFFER = 256 * 1024;
const CONNECT_TIMEOUT_MS = 30_000;

/** Loaded with the first address that asks for it: that takes 10 ms on every thread. */
const connectTls = (options: ConnectionOptions): Socket =>
  process.getBuiltinModule('node:tls').connect(options);

export interface HttpRequest {
  url: URL;
  method?: 'GET' | 'HEAD';
  headers: Readonly<Record<string, string>>;
  onHead: (head: ResponseHead) => BodySink;
  /** Where the body's taker wants its next bytes: without TLS the kernel puts them there, and nobody has to copy them. */
  room?: (() => Buffer | undefined) | undefined;
}

/**
 * One HTTP/1.1 connection that reads into one fixed buffer, or where the body's taker wants it (without TLS): no allocation per
 * piece of body. One request at a time; it stays usable for the next one to the same origin while `isReusable`.
 */
export class HttpConnection {
  readonly origin: string;
  #socket: Socket;
  /** Set when a proxy forwards plain requests: they name the whole address, and the proxy wants to know who asks. */
  #forwarder: URL | undefined;
  #parser: ResponseParser | undefined;
  #room: HttpRequest['room'];
  #unread: Buffer | undefined;
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined;
  #closed: Error | undefined;

  private constructor(origin: string, forwarder: URL | undefined, socket: Socket) {
    this.origin = origin;
    this.#forwarder = forwarder;
    this.#socket = socket;
  }

  /** Connects, through the proxy and TLS as the address and the transport ask. */
  static async open(url: URL, transport: Transport, signal?: AbortSignal): Promise<HttpConnection> {
    const proxy = proxyFor(url, transport);
    const isTls = url.protocol === 'https:';
    let connection: HttpConnection | undefined;
    const own = Buffer.allocUnsafeSlow(RECEIVE_BUFFER);
    const onread = {
      buffer: () => connection?.nextPlace() ?? own,
      callback: (count: number, buffer: Uint8Array): boolean =>
        connection?.receive(Buffer.from(buffer.buffer, buffer.byteOffset, count)) ?? true,
    };
    const ca = transport.caCertificates ? { ca: transport.caCertificates } : {};
    // only the server's certificate is not looked at: the proxy is nobody's test registry
    const trust = transport.isUnverified ? { rejectUnauthorized: false } : ca;
    let socket: Socket;
    if (isTls) {
      const from = proxy ? { socket: await openTunnel(proxy, url, ca, signal) } : placeOf(url);
      socket = connectTls({ ...from, servername: serverName(url), ...trust });
      await ready(socket, 'secureConnect', url, signal);
    } else if (proxy?.protocol === 'https:') {
      socket = await reachProxy(proxy, ca, signal);
    } else {
      socket = connectTcp({ ...placeOf(proxy ?? url), onread });
      await ready(socket, 'connect', proxy ?? url, signal);
    }
    socket.setNoDelay(true);
    const opened = new HttpConnection(url.origin, isTls ? undefined : proxy, socket);
    connection = opened;
    socket.on('error', (error) => opened.#close(error));
    socket.on('close', () => opened.#close(new Error('the connection was closed')));
    socket.on('end', () => opened.#end());
    // Not the fixed buffer: what TLS has decrypted already comes in spite of a pause, over the bytes that are still unread.
    if (isTls || proxy?.protocol === 'https:') {
      socket.on('data', (bytes: Buffer) => {
        if (!opened.receive(bytes)) socket.pause();
      });
    }
    return opened;
  }

  get isReusable(): boolean {
    return this.#closed === undefined && this.#parser === undefined;
  }

  /** Sends one request; resolves when the whole answer has been taken, rejects when the connection breaks before. */
  request({ url, method = 'GET', headers, onHead, room }: HttpRequest): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#settle = { resolve, reject };
    this.#parser = new ResponseParser(onHead, method === 'HEAD');
    this.#room = room;
    const target = this.#forwarder ? url.href : `${url.pathname}${url.search}`;
    const lines = Object.entries({ host: url.host, ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const login = this.#forwarder ? proxyLogin(this.#forwarder) : '';
    this.#socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join('')}${login}\r\n`);
    return promise;
  }

  /** Goes on after the body's taker asked for a pause. */
  resume(): void {
    const unread = this.#unread;
    if (this.#closed && !unread) return;
    this.#unread = undefined;
    if (unread && !this.receive(unread)) return;
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Where to receive next; undefined: into the connection's own buffer. */
  nextPlace(): Buffer | undefined {
    return this.#parser?.isInBody && !this.#unread ? this.#room?.() : undefined;
  }

  /** Answers whether to go on reading. */
  receive(bytes: Buffer): boolean {
    const parser = this.#parser;
    if (!parser) {
      this.#fail(new Error('the server sent data nobody asked for'));
      return false;
    }
    try {
      const taken = parser.push(bytes);
      if (parser.isDone) {
        if (!parser.canKeepAlive || taken < bytes.length) this.#socket.destroy();
        this.#finish();
        return true;
      }
      if (taken === bytes.length) return true;
      this.#unread = bytes.subarray(taken);
      return false;
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
  }

  #finish(): void {
    const settle = this.#settle;
    this.#parser = undefined;
    this.#settle = undefined;
    settle?.resolve();
  }

  #fail(error: Error): void {
    this.#close(error);
    this.#socket.destroy();
  }

  #end(): void {
    if (this.#parser?.endsWithConnection && !this.#unread) this.#finish();
  }

  #close(error: Error): void {
    this.#closed ??= error;
    const settle = this.#settle;
    this.#settle = undefined;
    this.#parser = undefined;
    settle?.reject(error);
  }
}

const serverName = (url: URL) => (/^[\d.]+$|:/.test(url.hostname) ? '' : url.hostname);

async function ready(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  url: URL,
  signal?: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (signal?.aborted) reject(signal.reason);
  const onAbort = () => reject(signal?.reason);
  const onTimeout = () => reject(new Error(`no connection to ${url.host} within 30 s`));
  const onClose = () => reject(new Error(`${url.host} closed the connection at once`));
  signal?.addEventListener('abort', onAbort, { once: true });
  socket.setTimeout(CONNECT_TIMEOUT_MS, onTimeout);
  socket.once(event, resolve).once('error', reject).once('close', onClose);
  try {
    await promise;
  } catch (error) {
    socket.destroy();
    socket.on('error', () => {});
    throw connectError(error, url);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    socket.setTimeout(0);
    socket.off('error', reject).off('close', onClose).off('timeout', onTimeout);
  }
}

/** Certificate failures will not go away by trying again; everything else may. */
function connectError(error: unknown, url: URL): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (!/CERT|SELF_SIGNED|TLS|SSL|UNABLE_TO/.test(code)) return error;
  return new KindlingError('KND_IMAGE_TLS', `the certificate of ${url.host} is not accepted (${code})`, {
    cause: error,
  });
}

const placeOf = (server: URL) => ({
  host: server.hostname.replace(/^\[|\]$/g, ''),
  port: Number(server.port) || (server.protocol === 'https:' ? 443 : 80),
});

const proxyLogin = ({ username, password }: URL) =>
  username
    ? `proxy-authorization: Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}\r\n`
    : '';

async function reachProxy(proxy: URL, ca: { ca?: string }, signal?: AbortSignal): Promise<Socket> {
  const isTls = proxy.protocol === 'https:';
  const socket = isTls
    ? connectTls({ ...placeOf(proxy), servername: serverName(proxy), ...ca })
    : connectTcp(placeOf(proxy));
  await ready(socket, isTls ? 'secureConnect' : 'connect', proxy, signal);
  return socket;
}

/** A way through the proxy to the server, on which TLS can be spoken. */
async function openTunnel(proxy: URL, url: URL, ca: { ca?: string }, signal?: AbortSignal): Promise<Socket> {
  const socket = await reachProxy(proxy, ca, signal);
  const authority = `${url.hostname}:${url.port || '443'}`;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const parser = new ResponseParser(({ status }) => {
    if (status === 200) resolve();
    else reject(tunnelRefused(proxy, authority, status));
    return (bytes) => bytes.length;
  }, true);
  const onData = (bytes: Buffer) => {
    try {
      parser.push(bytes);
    } catch (error) {
      reject(error);
    }
  };
  const onClose = () => reject(new Error(`the proxy ${proxy.host} closed the connection`));
  const onTimeout = () => reject(new Error(`the proxy ${proxy.host} did not answer within 30 s`));
  const onAbort = () => reject(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  socket.setTimeout(CONNECT_TIMEOUT_MS, onTimeout);
  socket.on('data', onData).once('close', onClose).once('error', reject);
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${proxyLogin(proxy)}\r\n`);
  try {
    await promise;
  } catch (error) {
    socket.destroy();
    socket.on('error', () => {});
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    socket.setTimeout(0);
    socket.off('data', onData).off('close', onClose).off('error', reject).off('timeout', onTimeout);
  }
  return socket;
}

/** A proxy that wants a password, or forbids the host, will say the same again; one that reaches nobody may change its mind. */
function tunnelRefused(proxy: URL, authority: string, status: number): Error {
  const message = `the proxy ${proxy.host} refuses a tunnel to ${authority} (${status})`;
  return status >= 400 && status < 500 ? new KindlingError('KND_IMAGE_REFUSED', message) : new Error(message);
}
