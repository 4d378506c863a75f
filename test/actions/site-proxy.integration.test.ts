import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { downloadArchive } from '../../actions/archive2disk/archive2disk.ts';
import { escrowRecoveryKey } from '../../actions/encryption/escrow.ts';
import { fetchTo } from '../../actions/fetchfile/fetchfile.ts';
import { proxiesOf } from '../../actions/image2disk/write-request.ts';
import { runInChild } from '../../actions/process/run-in-child.ts';
import { upload } from '../../actions/slurp/slurp.ts';

const SHA256_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const asked: string[] = [];
let folder: string;
let proxy: Server;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-site-proxy-'));
  await writeFile(path.join(folder, 'disk'), 'x');
  proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => response.end());
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await rm(folder, { recursive: true });
});
afterEach(() => vi.unstubAllEnvs());

const context = { signal: new AbortController().signal, emit: () => {} };
const keys = { keyId: '1', recoveryKey: 'k' } as Parameters<typeof escrowRecoveryKey>[1];

/** What the actions do with a server, given its address without a slash. */
const EXCHANGES: Record<string, (server: string) => Promise<unknown>> = {
  archive2disk: (server) =>
    downloadArchive(new URL(`${server}/x.tar`), path.join(folder, 'archive'), context, { timeoutMs: 60_000 }),
  fetchfile: (server) => fetchTo(path.join(folder, 'file'), `${server}/file`, SHA256_OF_NOTHING, context),
  slurp: (server) =>
    upload(
      {
        url: new URL(server),
        name: 'x.img',
        device: path.join(folder, 'disk'),
        size: 1,
        isCompressed: false,
      },
      context,
    ),
  escrow: (server) =>
    escrowRecoveryKey(
      { KINDLING_ESCROW_URL: `${server}/key`, KINDLING_ESCROW: 'required', TLS_CA_CERT: undefined },
      keys,
      { path: '/dev/sda', sizeBytes: 1 },
      AbortSignal.any([context.signal]),
    ),
  rootio: (server) =>
    runInChild({
      action: 'rootio',
      args: ['partition'],
      variables: {
        MIRROR_HOST: new URL(server).hostname,
        METADATA_SERVICE_PORT: new URL(server).port || '80',
      },
      machine: { listDisks: async () => [], secureBoot: async () => 'unsupported' },
      ...context,
    }),
};

describe('the proxy of the site', () => {
  // An address of TEST-NET-1 (RFC 5737): nobody is there, so what arrives came through the proxy.
  it.each([
    ['archive2disk', 'GET http://192.0.2.1/x.tar'],
    ['fetchfile', 'GET http://192.0.2.1/file'],
    ['slurp', 'POST http://192.0.2.1/'],
    ['escrow', 'POST http://192.0.2.1/key'],
    ['rootio', 'GET http://192.0.2.1/metadata'],
  ])('is used by %s', async (action, request) => {
    vi.stubEnv('http_proxy', `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    asked.length = 0;
    const failed = await EXCHANGES[action]?.('http://192.0.2.1').then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(asked).toEqual([request]);
    if (action === 'rootio') expect(failed).toMatchObject({ code: 'KND_METADATA_INVALID' });
    else expect(failed).toBeUndefined();
  });

  it('is what image actions use where their variables name none, "" included', () => {
    vi.stubEnv('http_proxy', 'http://site:1');
    vi.stubEnv('no_proxy', '.local');
    const none = { HTTPS_PROXY: undefined, NO_PROXY: undefined, https_proxy: undefined, no_proxy: undefined };
    const given = (HTTP_PROXY?: string) => proxiesOf({ ...none, HTTP_PROXY, http_proxy: undefined });
    expect(given()).toMatchObject({ httpProxy: 'http://site:1', noProxy: '.local' });
    expect(given('http://own:1')).toMatchObject({ httpProxy: 'http://own:1' });
    expect(given('')).toMatchObject({ httpProxy: '' });
  });
});

describe('a server that cannot be reached', () => {
  it.each([
    ['archive2disk', 'KND_DOWNLOAD'],
    ['rootio', 'KND_DOWNLOAD'],
    ['fetchfile', 'KND_FILE_FETCH'],
    ['slurp', 'KND_UPLOAD_FAILED'],
  ])('is told by %s as %s, which may be tried again', async (action, code) => {
    await expect(EXCHANGES[action]?.('http://127.0.0.1:1')).rejects.toMatchObject({
      code,
      retryable: true,
      message: expect.stringContaining('http://127.0.0.1:1/'),
      hint: expect.not.stringMatching(/registry/i),
    });
  });
});
