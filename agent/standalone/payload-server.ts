import type { FileHandle } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { KindlingError } from '../../protocol/error.ts';
import type { StickFile } from '../../protocol/stick.ts';
import { readAt } from './medium.ts';

const BLOCK = 1024 * 1024;

export interface Payload {
  urlOf: (name: string) => string;
  /** For people: the names of the files in place of their addresses. */
  withNames: (text: string) => string;
  fileOf: (name: string) => StickFile;
  close: () => Promise<void>;
}

/**
 * Serves the files of the payload on this machine only, so that the very actions that install over the network install
 * from a stick. The client checks the hashes: they are in the signed manifest. `onLost` is told when the stick itself
 * can no longer be read.
 */
export async function servePayload(
  payload: FileHandle,
  files: readonly StickFile[],
  onLost: (cause: unknown) => void = () => {},
): Promise<Payload> {
  const read = async (offset: number, length: number) => {
    try {
      const block = await readAt(payload, offset, length);
      if (block.length === 0) throw new Error('the payload ends too early');
      return block;
    } catch (thrown) {
      onLost(thrown);
      throw thrown;
    }
  };
  const server = createServer((request, response) => {
    answer(read, files, request, response).catch((thrown: unknown) => {
      response.destroy(thrown instanceof Error ? thrown : undefined);
    });
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', () => listening.resolve());
  await listening.promise;
  const { port } = server.address() as AddressInfo;
  const urlOf = (name: string) =>
    `http://127.0.0.1:${port}/${name.split('/').map(encodeURIComponent).join('/')}`;
  return {
    urlOf,
    withNames: (text) => files.reduce((said, { name }) => said.replaceAll(urlOf(name), basename(name)), text),
    fileOf: (name) => {
      const file = files.find((one) => one.name === name);
      if (file !== undefined) return file;
      throw new KindlingError('KND_STICK_INVALID', `the stick has no file ${name}`);
    },
    async close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

type Read = (offset: number, length: number) => Promise<Buffer>;

async function answer(
  read: Read,
  files: readonly StickFile[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const name = decodeURIComponent((request.url ?? '').slice(1));
  const file = files.find((one) => one.name === name);
  if (file === undefined) {
    response.writeHead(404).end();
    return;
  }
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  const start = Number(from ?? 0);
  const end = to ? Math.min(Number(to), file.size - 1) : file.size - 1;
  const headers = { 'accept-ranges': 'bytes', etag: `"${file.sha256}"` };
  if (start > end && file.size > 0) {
    response.writeHead(416, { 'content-range': `bytes */${file.size}` }).end();
    return;
  }
  const length = end - start + 1;
  if (from === undefined) response.writeHead(200, { ...headers, 'content-length': file.size });
  else {
    const range = `bytes ${start}-${end}/${file.size}`;
    response.writeHead(206, { ...headers, 'content-length': length, 'content-range': range });
  }
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  await pipeline(Readable.from(blocks(read, file.offset + start, length)), response);
}

async function* blocks(read: Read, offset: number, length: number): AsyncGenerator<Buffer> {
  for (let done = 0; done < length; ) {
    const block = await read(offset + done, Math.min(BLOCK, length - done));
    yield block;
    done += block.length;
  }
}
