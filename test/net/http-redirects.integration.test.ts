import http from 'node:http';
import https from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HttpRequest, openResponse } from '../../net/http.ts';
import { siteNetwork } from '../../net/site-network.ts';
import { makeCertificate } from '../actions/registry/test-certificate.ts';

/** What came, and with which credentials. */
const seen: { scheme: string; url: string; authorization: string | undefined; cookie: string | undefined }[] =
  [];
let listener: Server;
let cert: string;

/** One port that speaks TLS and plain HTTP: only so are host and port the same before and after the redirect. */
beforeAll(async () => {
  const made = await makeCertificate('127.0.0.1');
  cert = made.cert;
  const answer =
    (scheme: string): http.RequestListener =>
    ({ url = '', headers: { host, authorization, cookie } }, response) => {
      seen.push({ scheme, url, authorization, cookie });
      const location = {
        '/down': `http://${host}/end`,
        '/same': '/end',
        '/up': `https://${host}/end`,
        '/circle': '/circle',
      }[url];
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

function open(start: string, request: HttpRequest = {}) {
  seen.length = 0;
  const { port } = listener.address() as AddressInfo;
  return openResponse(siteNetwork(cert), start.replace('HOST', `127.0.0.1:${port}`), {
    headers: { Authorization: 'Bearer t', cookie: 'session=1', connection: 'close' },
    followsRedirects: true,
    code: 'KND_DOWNLOAD',
    ...request,
  });
}

async function visited(start: string) {
  const response = await open(start);
  expect([response.status, await response.text()]).toEqual([200, 'here']);
  return seen.map(({ scheme, url: path, authorization, cookie }) => [scheme, path, authorization, cookie]);
}

describe('credentials, where a server redirects', () => {
  it('stay behind on the way to another origin, which the same host with TLS is', async () => {
    expect(await visited('http://HOST/up')).toEqual([
      ['http', '/up', 'Bearer t', 'session=1'],
      ['https', '/end', undefined, undefined],
    ]);
  });

  it('go along within the same origin, those in the address too', async () => {
    expect(await visited('https://HOST/same')).toEqual([
      ['https', '/same', 'Bearer t', 'session=1'],
      ['https', '/end', 'Bearer t', 'session=1'],
    ]);
    const response = await open('http://user:secret@HOST/same', { headers: { connection: 'close' } });
    response.discard();
    const basic = `Basic ${Buffer.from('user:secret').toString('base64')}`;
    expect(seen.map(({ authorization }) => authorization)).toEqual([basic, basic]);
  });
});

describe('a redirect', () => {
  it('from https to http is not followed: what comes from there nobody vouches for', async () => {
    await expect(open('https://HOST/down')).rejects.toMatchObject({
      code: 'KND_DOWNLOAD',
      message: expect.stringContaining('from https to http://'),
    });
    expect(seen).toHaveLength(1);
  });

  it('in circles ends', async () => {
    await expect(open('http://HOST/circle')).rejects.toMatchObject({
      code: 'KND_DOWNLOAD',
      message: expect.stringContaining('redirects in circles'),
    });
    expect(seen).toHaveLength(11);
  });

  it('of what is sent, or where none is expected, is an answer like any other', async () => {
    for (const request of [{ method: 'POST', body: 'the key' }, { followsRedirects: false }]) {
      const response = await open('http://HOST/same', request);
      response.discard();
      expect(response.status).toBe(307);
      expect(seen).toHaveLength(1);
    }
  });
});
