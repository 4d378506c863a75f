import { readdirSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONSOLE_PAGES } from '../../orchestrator-stub/http/console-pages.ts';
import { RunningStub } from '../orchestrator-stub/running-stub.ts';

const MOST_BYTES = 150_000;
const GENERATED = join(import.meta.dirname, '../../console/generated');

let running: RunningStub;
beforeAll(async () => {
  running = await RunningStub.start();
});
afterAll(() => running[Symbol.asyncDispose]());

const get = (path: string, headers: Record<string, string> = {}) =>
  running.api('GET', path, { token: null, headers });

describe('the console', () => {
  it.each(CONSOLE_PAGES)('is at %s, for anyone: it holds no secret', async (path) => {
    const address = path.replaceAll(/\{\w+\}/g, 'some%20name');
    const answer = await get(address);
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
    expect(answer.text).toContain('<div id="app"></div>');
  });

  it('allows nothing inline, nothing from elsewhere, and no frame', async () => {
    const { headers, text } = await get('/');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:|data:/);
    expect(text).not.toMatch(/<style|style=|<script(?![^>]*src=)|https?:\/\//);
  });

  it('has files that a browser may keep for good, and a page that it asks for again', async () => {
    const page = await get('/');
    expect(page.headers['cache-control']).toBe('no-cache');
    const files = [...page.text.matchAll(/"(\/console\/[^"]+-[A-Z0-9]{8}\.(?:js|css))"/g)].map(
      ([, file = '']) => file,
    );
    expect(files).toHaveLength(2);
    for (const file of files) {
      const { status, headers } = await get(file);
      expect({ status, caching: headers['cache-control'] }).toEqual({
        status: 200,
        caching: 'public, max-age=31536000, immutable',
      });
    }
    expect((await get('/', { 'if-none-match': String(page.headers['etag']) })).status).toBe(304);
  });

  it('answers in the form that the browser takes', async () => {
    const plain = await get('/');
    for (const [encoding, decode] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const response = await fetchBytes('/', encoding);
      expect(response.encoding).toBe(encoding);
      expect(decode(response.bytes).toString()).toBe(plain.text);
    }
  });

  it('is smaller than 150 kB, compressed', () => {
    const sizes = readdirSync(GENERATED)
      .filter((file) => file.endsWith('.br'))
      .map((file) => statSync(join(GENERATED, file)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES);
  });

  it('knows no other file', async () => {
    expect((await get('/console/nothing.js')).status).toBe(404);
    expect((await get('/console/..%2f..%2fpackage.json')).status).toBe(404);
  });
});

describe('a link on a page of another site', () => {
  const followed = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  };

  it('opens the console', async () => {
    expect((await get('/nodes/host-1', followed)).status).toBe(200);
  });

  it.each([
    ['in a frame', { 'sec-fetch-dest': 'iframe' }],
    ['by a script', { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
  ])('does not %s', async (_how, headers) => {
    expect((await get('/', { ...followed, ...headers })).status).toBe(403);
  });
});

function fetchBytes(path: string, encoding: string) {
  const { promise, resolve, reject } = Promise.withResolvers<{ encoding: string; bytes: Buffer }>();
  request(
    new URL(path, running.stub.urls.http),
    { agent: false, headers: { 'accept-encoding': encoding } },
    async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve({ encoding: response.headers['content-encoding'] ?? '', bytes: Buffer.concat(chunks) });
    },
  )
    .on('error', reject)
    .end();
  return promise;
}
