import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { upload } from '../../../actions/slurp/slurp.ts';
import { type LoopDisk, loopDisk } from '../loop-disk.ts';

let disk: LoopDisk;
let server: Server;
beforeAll(async () => {
  disk = await loopDisk(64 << 20);
});
afterAll(() => disk[Symbol.asyncDispose]());
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function uploadTo(answer: RequestListener, silenceMs: number) {
  server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return upload(
    { url, name: 'node.img', device: disk.device, size: 64 << 20, isCompressed: false, silenceMs },
    { signal: new AbortController().signal, emit: () => {} },
  );
}

describe('an upload to a server that goes silent', () => {
  it.each<[string, RequestListener]>([
    [
      'that takes the beginning and then nothing more',
      (request) => request.once('data', () => request.pause()),
    ],
    ['that takes everything and never answers', (request) => request.resume()],
  ])('%s fails', async (_, answer) => {
    await expect(uploadTo(answer, 500)).rejects.toMatchObject({
      code: 'KND_UPLOAD_FAILED',
      cause: { message: 'silent for 0.5 s' },
    });
  });

  it('that is only slow succeeds, however long it takes altogether', async () => {
    const slow: RequestListener = async (request, response) => {
      for await (const _ of request) await new Promise((resolve) => setTimeout(resolve, 1));
      response.end();
    };
    const startedAt = performance.now();
    expect(await uploadTo(slow, 500)).toBe(64 << 20);
    expect(performance.now() - startedAt).toBeGreaterThan(500);
  });
});
