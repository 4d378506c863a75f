import http2 from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { authorityOf, type Endpoint } from './endpoint.ts';

/** Asks a server on an open TLS connection what time it is: the Date header of whatever it answers to this path. */
export function readServerTime(
  socket: TLSSocket,
  endpoint: Endpoint,
  path: string,
  timeoutMs: number,
): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const answer = (date: unknown) => {
    const time = Date.parse(String(date));
    resolve(Number.isNaN(time) ? undefined : time);
  };
  const timer = setTimeout(() => answer(undefined), timeoutMs);
  socket.on('error', () => answer(undefined));
  socket.on('close', () => answer(undefined));
  if (socket.alpnProtocol === 'h2') {
    const session = http2.connect(`https://${authorityOf(endpoint)}`, { createConnection: () => socket });
    session.on('error', () => answer(undefined));
    const stream = session.request({ ':method': 'HEAD', ':path': path });
    stream.on('response', (headers) => answer(headers['date']));
    stream.on('error', () => answer(undefined));
    stream.end();
  } else {
    let head = '';
    socket.on('data', (chunk: Buffer) => {
      head += chunk.toString('latin1');
      if (head.includes('\r\n\r\n')) answer(/^date: *(.*)\r$/im.exec(head)?.[1]);
    });
    socket.write(`HEAD ${path} HTTP/1.1\r\nHost: ${authorityOf(endpoint)}\r\nConnection: close\r\n\r\n`);
  }
  return promise.finally(() => clearTimeout(timer));
}
