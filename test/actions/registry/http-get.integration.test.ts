import http from 'node:http';
import https from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { httpGet } from '../../../actions/registry/http-get.ts';
import { makeCertificate } from './test-certificate.ts';

/** What came, and with which credentials. */
const seen: { scheme: string; url: string; authorization: string | undefined }[] = [];
let listener: Server;
let cert: string;

/** One port that speaks TLS and plain HTTP: only so are host and port the same before and after the redirect. */
beforeAll(async () => {
  const made = await makeCertificate('127.0.0.1');
  cert = made.cert;
  const answer =
    (scheme: string): http.RequestListener =>
    ({ url = '', headers: { host, authorization } }, response) => {
      seen.push({ scheme, url, authorization });
      const location = { '/down': `http://${host}/end`, '/same': '/end', '/up': `https://${host}/end` }[url];
      if (location) response.writeHead(307, { location }).end();
      else response.end('here');
    };
  const plain = http.createServer(answer('http'));
  const secure = https.createServer(made, answer('https'));
  listener = createServer((socket: Socket) => {
    socket.once('data', (first) => {
      socket.pause();
      socket.unshift(first);
      const isTls = first[0] === 0x16; // RFC 8446, 5.1: a record of type handshake
      (isTls ? secure : plain).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
});
afterAll(() => listener.close());

async function visited(start: string) {
  seen.length = 0;
  const { port } = listener.address() as AddressInfo;
  const url = new URL(start.replace('HOST', `127.0.0.1:${port}`));
  const response = await httpGet(url, {
    headers: { authorization: 'Bearer t', connection: 'close' },
    ca: cert,
  });
  response.resume();
  expect(response.statusCode).toBe(200);
  return seen.map(({ scheme, url: path, authorization }) => [scheme, path, authorization]);
}

describe('credentials, where a server redirects', () => {
  it('stay behind when it goes from https to http, though host and port are the same', async () => {
    expect(await visited('https://HOST/down')).toEqual([
      ['https', '/down', 'Bearer t'],
      ['http', '/end', undefined],
    ]);
  });

  it('stay behind on the way up, too: it is another server that answers there', async () => {
    expect(await visited('http://HOST/up')).toEqual([
      ['http', '/up', 'Bearer t'],
      ['https', '/end', undefined],
    ]);
  });

  it('go along within the same origin', async () => {
    expect(await visited('https://HOST/same')).toEqual([
      ['https', '/same', 'Bearer t'],
      ['https', '/end', 'Bearer t'],
    ]);
  });
});
