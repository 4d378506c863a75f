import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseVariables } from '../../../actions/contract/parameters.ts';
import { getSmall } from '../../../actions/image-writer/http/get.ts';
import { writeImage } from '../../../actions/image-writer/index.ts';
import { IMAGE_PARAMETERS } from '../../../actions/image2disk/image-parameters.ts';
import { type ImageVariables, writeRequestFor } from '../../../actions/image2disk/write-request.ts';
import type { KindlingError } from '../../../protocol/error.ts';
import {
  CREDENTIALS,
  type ForwardProxy,
  type RealServer,
  startProxy,
  startRealServer,
  startSecureProxy,
} from './real-server.ts';
import { encodeImage, makeDiskImage } from './test-image.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(4 * MIB, 41);
/** A name that only the proxy can resolve. */
const HOST = 'images.site.test';

let folder: string;
let server: RealServer;
let proxy: ForwardProxy;
let serial = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-transport-'));
  server = await startRealServer({ 'disk.zst': encodeImage(RAW, 'zst'), 'disk.gz': encodeImage(RAW, 'gz') });
  proxy = await startProxy((host) => (host.endsWith(':443') ? server.httpsPort : server.httpPort));
});
afterAll(async () => {
  proxy?.close();
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** Writes with the variables a workflow would set; answers the error's code, or `equal`. */
async function outcome(variables: Record<string, string>): Promise<string> {
  serial += 1;
  const target = join(folder, `${serial}.disk`);
  writeFileSync(target, Buffer.alloc(RAW.length, 0xaa));
  const settings = { RETRY_DURATION_MINUTES: '0', ...variables };
  const { values } = parseVariables('image2disk', IMAGE_PARAMETERS, settings);
  const result = await writeImage(writeRequestFor('image2disk', values as ImageVariables, target)).then(
    () => undefined,
    (error: KindlingError) => error.code,
  );
  return result ?? (readFileSync(target).equals(RAW) ? 'equal' : 'different');
}

async function listen(listener: Server): Promise<string> {
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
}

const http = (path: string) => `http://127.0.0.1:${server.httpPort}${path}`;
const https = (path: string) => `https://127.0.0.1:${server.httpsPort}${path}`;
const siteCa = () => ({ TLS_CA_CERT: Buffer.from(server.ca).toString('base64') });

describe('TLS', () => {
  test('a site’s own authority is believed when it is given, and only then', async () => {
    expect(await outcome({ IMG_URL: https('/disk.zst'), ...siteCa() })).toBe('equal');
    expect(await outcome({ IMG_URL: https('/disk.zst') })).toBe('KND_IMAGE_TLS');
  });

  test('a redirect from https to http is refused', async () => {
    expect(await outcome({ IMG_URL: https('/downgrade/disk.zst'), ...siteCa() })).toBe('KND_IMAGE_REDIRECT');
  });
});

describe('credentials', () => {
  const { username, password, token } = CREDENTIALS;

  test('a user and a password in the address', async () => {
    const login = `${username}:${encodeURIComponent(password)}`;
    const withLogin = http('/basic/disk.zst').replace('://', `://${login}@`);
    expect(await outcome({ IMG_URL: withLogin })).toBe('equal');
    expect(await outcome({ IMG_URL: http('/basic/disk.zst') })).toBe('KND_IMAGE_REFUSED');
  });

  test('a bearer token', async () => {
    expect(await outcome({ IMG_URL: http('/bearer/disk.zst'), KINDLING_BEARER_TOKEN: token })).toBe('equal');
    expect(await outcome({ IMG_URL: http('/bearer/disk.zst'), KINDLING_BEARER_TOKEN: 'old' })).toBe(
      'KND_IMAGE_REFUSED',
    );
  });
});

describe('credentials and mirrors', () => {
  test('a token stays with the server of IMG_URL; a mirror gets it only if it is named, or its own login', async () => {
    const seen: string[] = [];
    await using mirror = createServer((request, response) => {
      seen.push(request.headers.authorization ?? 'nothing');
      response.writeHead(404).end();
    });
    const url = await listen(mirror);
    const variables = {
      IMG_URL: http('/disk.zst-missing'),
      KINDLING_BEARER_TOKEN: CREDENTIALS.token,
      KINDLING_MIRRORS: `${url}/disk.zst`,
      RETRY_ENABLED: 'false',
    };
    expect(await outcome(variables)).toBe('KND_IMAGE_NOT_FOUND');
    expect([...new Set(seen)]).toEqual(['nothing']);
    seen.length = 0;
    await outcome({ ...variables, KINDLING_MIRRORS: url.replace('://', '://me:mine@') });
    expect([...new Set(seen)]).toEqual([`Basic ${Buffer.from('me:mine').toString('base64')}`]);
    seen.length = 0;
    await outcome({ ...variables, KINDLING_BEARER_ORIGINS: `${url}/` });
    expect([...new Set(seen)]).toEqual([`Bearer ${CREDENTIALS.token}`]);
    seen.length = 0;
    await outcome({ ...variables, KINDLING_MANIFEST: `${url}/elsewhere.manifest` });
    expect([...new Set(seen)]).toEqual(['nothing']);
  });
});

describe('what servers do to answers', () => {
  test('Content-Encoding: gzip over a .gz is the file itself; over anything else it is a contradiction', async () => {
    expect(await outcome({ IMG_URL: http('/encoded/disk.gz') })).toBe('equal');
    expect(await outcome({ IMG_URL: http('/encoded/disk.zst') })).toBe('KND_IMAGE_CONTRADICTION');
  });

  test('redirects with a query string are followed; a circle is an error', async () => {
    expect(await outcome({ IMG_URL: http('/moved/disk.zst') })).toBe('equal');
    expect(await outcome({ IMG_URL: http('/circle') })).toBe('KND_IMAGE_REDIRECT');
  });
});

describe('a proxy', () => {
  test.each(['HTTP_PROXY', 'http_proxy'])('%s carries plain requests', async (name) => {
    proxy.seen.length = 0;
    expect(await outcome({ IMG_URL: `http://${HOST}/disk.zst`, [name]: proxy.url })).toBe('equal');
    expect(proxy.seen).toContain(`GET ${HOST}/disk.zst`);
  });

  test.each(['HTTPS_PROXY', 'https_proxy'])('%s carries TLS by CONNECT, with its password', async (name) => {
    proxy.seen.length = 0;
    const withLogin = proxy.url.replace('://', '://user:secret@');
    const variables = { IMG_URL: `https://${HOST}/disk.zst`, [name]: withLogin, ...siteCa() };
    expect(await outcome(variables)).toBe('equal');
    const login = Buffer.from('user:secret').toString('base64');
    expect(proxy.seen).toContain(`CONNECT ${HOST}:443 Basic ${login}`);
  });

  test('a password for the proxy goes along with plain requests too', async () => {
    proxy.seen.length = 0;
    const withLogin = proxy.url.replace('://', '://user:secret@');
    expect(await outcome({ IMG_URL: `http://${HOST}/disk.zst`, HTTP_PROXY: withLogin })).toBe('equal');
    const login = Buffer.from('user:secret').toString('base64');
    expect(proxy.seen).toContain(`GET ${HOST}/disk.zst Basic ${login}`);
  });

  test.each(['http', 'https'])('that is spoken to over TLS carries %s', async (protocol) => {
    await using secure = await startSecureProxy(server, proxy);
    proxy.seen.length = 0;
    const proxies = { HTTP_PROXY: secure.url, HTTPS_PROXY: secure.url };
    const url = `${protocol}://${HOST}/disk.zst`;
    expect(await outcome({ IMG_URL: url, ...proxies, ...siteCa() })).toBe('equal');
    expect(proxy.seen.length).toBeGreaterThan(0);
    expect(await outcome({ IMG_URL: url, ...proxies })).toBe('KND_IMAGE_TLS');
  });

  test('that refuses the tunnel says so at once; one that never answers is given up', async () => {
    await using refusing = createServer().on('connect', (_, socket) =>
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'),
    );
    const variables = { IMG_URL: `https://${HOST}/disk.zst`, RETRY_DURATION_MINUTES: '10', ...siteCa() };
    expect(await outcome({ ...variables, HTTPS_PROXY: await listen(refusing) })).toBe('KND_IMAGE_REFUSED');
    await using silent = createTcpServer((socket) => socket.resume());
    const asked = getSmall(
      `https://${HOST}/disk.zst.manifest`,
      { transport: { httpsProxy: await listen(silent) }, timeoutMs: 500 },
      1000,
    );
    await expect(asked).rejects.toThrow(/no whole answer within 0.5 s/);
  });

  test.each(['NO_PROXY', 'no_proxy'])('%s names hosts that are reached without it', async (name) => {
    proxy.seen.length = 0;
    const variables = { IMG_URL: `http://${HOST}/disk.zst`, HTTP_PROXY: proxy.url, [name]: '.site.test' };
    expect(await outcome(variables)).toBe('KND_IMAGE_UNREACHABLE'); // nobody but the proxy knows the name
    expect(proxy.seen).toEqual([]);
  });
});
