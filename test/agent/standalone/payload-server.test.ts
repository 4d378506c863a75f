import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { servePayload } from '../../../agent/standalone/payload-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindling-payload-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function served() {
  const path = join(folder, 'payload');
  writeFileSync(path, 'headerhello worldtail');
  const handle = await open(path, 'r');
  const files = [
    { name: 'image/a b.raw', offset: 6, size: 11, sha256: 'abc' },
    { name: 'cut', offset: 6, size: 5000, sha256: 'def' },
  ];
  const lost: unknown[] = [];
  const server = await servePayload(handle, files, (cause) => lost.push(cause));
  return {
    server,
    lost,
    async [Symbol.asyncDispose]() {
      await server.close();
      await handle.close();
    },
  };
}

test('people read the name of a file, not its address', async () => {
  await using payload = await served();
  const { urlOf, withNames } = payload.server;
  expect(withNames(`write ${urlOf('image/a b.raw')}: destroys`)).toBe('write a b.raw: destroys');
});

test('a file is served whole, in ranges, and by name only', async () => {
  await using payload = await served();
  const url = payload.server.urlOf('image/a b.raw');
  const whole = await fetch(url);
  expect([whole.status, whole.headers.get('etag'), await whole.text()]).toEqual([
    200,
    '"abc"',
    'hello world',
  ]);
  const part = await fetch(url, { headers: { range: 'bytes=6-8' } });
  expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
    206,
    'bytes 6-8/11',
    'wor',
  ]);
  const rest = await fetch(url, { headers: { range: 'bytes=6-' } });
  expect(await rest.text()).toBe('world');
  expect((await fetch(url, { headers: { range: 'bytes=11-' } })).status).toBe(416);
  expect((await fetch(url, { method: 'HEAD' })).headers.get('content-length')).toBe('11');
  expect((await fetch(payload.server.urlOf('other'))).status).toBe(404);
});

test('a payload that ends too early breaks the connection instead of giving a short file', async () => {
  await using payload = await served();
  await expect(fetch(payload.server.urlOf('cut')).then((response) => response.text())).rejects.toThrow();
  expect(payload.lost).toHaveLength(1);
});

test('one who stops fetching does not make the stick count as lost', async () => {
  await using payload = await served();
  const stop = new AbortController();
  const response = await fetch(payload.server.urlOf('image/a b.raw'), { signal: stop.signal });
  stop.abort();
  await response.text().catch(() => '');
  expect(payload.lost).toEqual([]);
});
