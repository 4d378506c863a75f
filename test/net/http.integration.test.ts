import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchText, type HttpRequest, openResponse } from '../../net/http.ts';
import { siteNetwork } from '../../net/site-network.ts';
import { KindlingError } from '../../protocol/error.ts';
import { makeCertificate } from '../actions/registry/test-certificate.ts';
import { hostileServer } from './hostile-server.ts';

const REQUEST: HttpRequest = { code: 'KND_DOWNLOAD', stallMs: 300, followsRedirects: true };
const text = (url: string, request: HttpRequest = {}) => fetchText({}, url, { ...REQUEST, ...request });
const failure = (message: string) => ({ code: 'KND_DOWNLOAD', message: expect.stringContaining(message) });

describe('a server that misbehaves costs one request, with the code of who asked', () => {
  it.each([
    ['says nothing at all', '', 'silent for 0.3 s'],
    ['stalls in its head', 'HTTP/1.1 200 OK\r\ncontent-le', 'silent for 0.3 s'],
    ['speaks another language', 'SSH-2.0-OpenSSH_9.9\r\n', 'cannot be reached'],
    ['sends garbage for a length', 'HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\nx', 'cannot be reached'],
    [
      'changes the protocol unasked',
      'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      'cannot be',
    ],
    [
      'sends headers without end',
      `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(200_000)}\r\n\r\n`,
      'cannot be reached',
    ],
  ])('one that %s', async (_, bytes, message) => {
    using server = await hostileServer((socket) => socket.write(bytes));
    await expect(text(server.url)).rejects.toMatchObject(failure(message));
  });

  it.each([
    ['stalls in the body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf', false, 'silent for 0.3 s'],
    ['hangs up in the body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf', true, 'aborted'],
    [
      'sends garbage for a chunk',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n',
      false,
      '',
    ],
  ])('one that %s is told with what came', async (_, bytes, isEnd, cause) => {
    using server = await hostileServer((socket) => {
      socket.write(bytes, () => isEnd && socket.destroySoon());
    });
    const thrown = await text(server.url).catch((error: unknown) => error);
    expect(thrown).toMatchObject(failure('broke off after 4 bytes'));
    expect((thrown as KindlingError).cause).toMatchObject({ message: expect.stringContaining(cause) });
  });

  it('one that answers a small question with a gigabyte is cut off, announced or not', async () => {
    const megabyte = Buffer.alloc(1 << 20);
    let sent = 0;
    const pour = (response: http.ServerResponse) => {
      while (sent < 1024 && response.write(megabyte)) sent += 1;
      if (sent < 1024 && !response.destroyed) response.once('drain', () => pour(response));
    };
    const server = http.createServer(({ url }, response) => {
      if (url === '/announced') response.writeHead(200, { 'content-length': 1 << 30 });
      pour(response);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await expect(text(`${url}/announced`)).rejects.toMatchObject(failure('sends more than 16777216 bytes'));
      await expect(text(`${url}/endless`)).rejects.toMatchObject(failure('sends more than 16777216 bytes'));
      expect(sent).toBeLessThan(256);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('one that is not there is named without its login and query', async () => {
    await expect(text('http://user:secret@127.0.0.1:1/x?key=secret')).rejects.toMatchObject({
      ...failure('http://127.0.0.1:1/x?… cannot be reached'),
      retryable: true,
    });
  });

  it('one that sends on and on after its answer does not end the process', async () => {
    using server = await hostileServer((socket) => {
      socket.write(
        'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 999 What\r\ngarbage\r\n\r\n\0\0\0\0',
      );
    });
    expect(await text(server.url)).toMatchObject({ status: 200, body: 'ok' });
    expect(await text(server.url)).toMatchObject({ status: 200, body: 'ok' });
  });
});

describe('a request', () => {
  it('without a code throws the bare error, for a caller that explains it', async () => {
    const thrown = await fetchText({}, 'http://127.0.0.1:1/').catch((error: unknown) => error);
    expect(thrown).not.toBeInstanceOf(KindlingError);
    expect(thrown).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('that is canceled ends at once, with the reason, before the head and in the body', async () => {
    for (const bytes of ['', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf']) {
      const stop = new AbortController();
      using server = await hostileServer((socket) => {
        socket.write(bytes || '\r\n', () => stop.abort(new Error('stopped by hand')));
      });
      await expect(text(server.url, { signal: stop.signal, stallMs: 60_000 })).rejects.toThrow(
        'stopped by hand',
      );
    }
  });

  it('is not a stall where its taker is slow', async () => {
    const body = Buffer.alloc(8 << 20, 7);
    const server = http.createServer((_, response) => response.end(body));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const response = await openResponse({}, url, { stallMs: 100 });
      const hash = createHash('sha256');
      let isFirst = true;
      for await (const piece of response.pieces()) {
        hash.update(piece);
        if (isFirst) await delay(500); // a disk that is busy for five times as long as a server may be silent
        isFirst = false;
      }
      expect(hash.digest('hex')).toBe(createHash('sha256').update(body).digest('hex'));
    } finally {
      server.close();
    }
  });

  it('over a connection that the server closed meanwhile is sent again', async () => {
    let answers = 0;
    using server = await hostileServer((socket) => {
      answers += 1;
      if (answers === 2) socket.resetAndDestroy();
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
    const network = {};
    expect((await fetchText(network, server.url)).body).toBe('ok');
    expect((await fetchText(network, server.url, { method: 'POST', body: 'x' })).body).toBe('ok');
    expect([answers, server.connections]).toEqual([3, 2]);
  });

  it('with a body of its own is streamed, and a source that fails keeps its name', async () => {
    let received = 0;
    const server = http.createServer(async (request, response) => {
      for await (const piece of request) received += (piece as Buffer).length;
      response.end('thanks');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    async function* body(pieces: number, isBroken: boolean) {
      for (let index = 0; index < pieces; index += 1) yield Buffer.alloc(1 << 20);
      if (isBroken) throw new KindlingError('KND_DISK_IO', 'the disk was pulled out');
    }
    try {
      const whole = await openResponse({}, url, { ...REQUEST, method: 'POST', body: body(64, false) });
      expect(await whole.text()).toBe('thanks');
      expect(received).toBe(64 << 20);
      const broken = openResponse({}, url, { ...REQUEST, method: 'POST', body: body(2, true) });
      await expect(broken).rejects.toMatchObject({ code: 'KND_DISK_IO' });
    } finally {
      server.close();
    }
  });

  it('that is refused before its body is sent tells the refusal', async () => {
    using server = await hostileServer((socket) => {
      socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 8\r\n\r\ntoo much');
    });
    async function* endless() {
      for (;;) {
        yield Buffer.alloc(1 << 16);
        await delay(1);
      }
    }
    const response = await openResponse({}, server.url, { ...REQUEST, method: 'POST', body: endless() });
    expect([response.status, await response.excerpt()]).toEqual([413, 'too much']);
  });
});

describe('a proxy', () => {
  const asked: string[] = [];
  const roots = getCACertificates('default');
  let certificate: { key: string; cert: string };
  let target: https.Server;
  let proxies: { http: http.Server; https: https.Server };
  const portOf = (server: http.Server | https.Server) => (server.address() as AddressInfo).port;

  beforeAll(async () => {
    certificate = await makeCertificate('127.0.0.1');
    setDefaultCACertificates([...roots, certificate.cert]);
    target = https.createServer(certificate, (_, response) => response.end('through TLS'));
    const plain: http.RequestListener = ({ url = '' }, response) => {
      asked.push(url);
      response.end('in the clear');
    };
    proxies = { http: http.createServer(plain), https: https.createServer(certificate, plain) };
    for (const proxy of Object.values(proxies)) {
      proxy.on('connect', ({ url = '', headers }, socket) => {
        asked.push(`${url} ${headers['proxy-authorization'] ?? ''}`.trim());
        const upstream = connect(portOf(target), '127.0.0.1', () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          upstream.pipe(socket).pipe(upstream);
        });
        upstream.on('error', () => socket.destroy());
        socket.on('error', () => upstream.destroy());
      });
    }
    for (const server of [target, proxies.http, proxies.https])
      await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => {
    setDefaultCACertificates(roots);
    for (const server of [target, proxies.http, proxies.https]) {
      server.closeAllConnections();
      server.close();
    }
  });

  // An address of TEST-NET-1 (RFC 5737): nobody is there, so an answer came through the proxy.
  it.each(['http', 'https'] as const)('that speaks %s is used for both kinds of address', async (kind) => {
    const proxy = `${kind}://user:pass@127.0.0.1:${portOf(proxies[kind])}`;
    const network = { proxies: { httpProxy: proxy, httpsProxy: proxy }, trust: 'anyone' } as const;
    asked.length = 0;
    expect((await fetchText(network, 'http://192.0.2.1/x', REQUEST)).body).toBe('in the clear');
    expect((await fetchText(network, 'https://192.0.2.1/x', REQUEST)).body).toBe('through TLS');
    const login = `Basic ${Buffer.from('user:pass').toString('base64')}`;
    expect(asked).toEqual(['http://192.0.2.1/x', `192.0.2.1:443 ${login}`]);
  });

  it('that does not answer, or refuses, is named', async () => {
    using silent = await hostileServer(() => {});
    using refusing = await hostileServer((socket) => socket.end('HTTP/1.1 403 No\r\n\r\n'));
    for (const { url } of [silent, refusing]) {
      const network = { proxies: { httpsProxy: url } };
      await expect(fetchText(network, 'https://192.0.2.1/x', REQUEST)).rejects.toMatchObject(
        failure(`through the proxy ${new URL(url).host}`),
      );
    }
  });

  it('does not stand in for the certificate of the server', async () => {
    const httpsProxy = `http://127.0.0.1:${portOf(proxies.http)}`;
    const { cert } = await makeCertificate('other.test');
    const network = { ...siteNetwork(cert), proxies: { httpsProxy } };
    await expect(fetchText(network, 'https://192.0.2.1/', REQUEST)).rejects.toMatchObject(
      failure('cannot be reached'),
    );
  });
});
