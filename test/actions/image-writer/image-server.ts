import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a server misbehaves. `at` is the byte of the file where it happens; `times` how often (default: always). */
export type Fault =
  | { kind: 'cut'; at: number; times?: number }
  | { kind: 'drip'; at: number; times?: number }
  | { kind: 'error-after-cut'; at: number; times?: number }
  | { kind: 'redirect-after-cut'; at: number; to: string; times?: number }
  | { kind: 'etag-change'; at: number }
  | { kind: 'length'; announced: number }
  | { kind: 'no-length' };

export interface ServedFile {
  bytes: Buffer;
  fault?: Fault;
  hasRanges?: boolean;
  headers?: Record<string, string>;
  /** Called for each request; answers true when it has handled it. */
  handle?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface ImageServer extends AsyncDisposable {
  url: string;
  files: Map<string, ServedFile>;
  /** One line per request: path and range. */
  requests: string[];
  bytesSent: () => number;
  close: () => Promise<void>;
}

/** A real HTTP server on an ephemeral port that serves files from memory, well or badly. */
export async function startImageServer(files: Record<string, ServedFile>): Promise<ImageServer> {
  const served = new Map(Object.entries(files));
  const requests: string[] = [];
  const state = { sent: 0, seen: new Map<string, number>() };
  const server: Server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    requests.push(`${path} ${request.headers.range ?? ''}`.trim());
    const file = served.get(path);
    if (file?.handle?.(request, response)) return;
    if (!file) response.writeHead(404).end('not here');
    else serve(file, path, request, response, state);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${port}`,
    files: served,
    requests,
    bytesSent: () => state.sent,
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface State {
  sent: number;
  seen: Map<string, number>;
}

function serve(
  file: ServedFile,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  state: State,
): void {
  const { bytes, fault } = file;
  const visit = state.seen.get(path) ?? 0;
  state.seen.set(path, visit + 1);
  const limit =
    fault && 'times' in fault ? (fault.times ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
  const isFaulty = fault !== undefined && visit < limit;
  const changed = fault?.kind === 'etag-change' && visit > 0;
  const etag = `"${createHash('md5').update(bytes).digest('hex')}${changed ? '-new' : ''}"`;
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const ifRange = request.headers['if-range'];
  const isPartial = range !== null && file.hasRanges !== false && (ifRange === undefined || ifRange === etag);
  const start = isPartial ? Number(range?.[1]) : 0;
  const end = isPartial && range?.[2] ? Number(range[2]) + 1 : bytes.length;

  if (isFaulty && visit > 0 && fault.kind === 'error-after-cut')
    return void response.writeHead(500).end('broken');
  if (isFaulty && visit > 0 && fault.kind === 'redirect-after-cut') {
    return void response.writeHead(302, { location: fault.to }).end();
  }
  if (start >= bytes.length) {
    return void response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
  }
  const toEnd = end === bytes.length;
  const announced = fault?.kind === 'length' ? fault.announced : bytes.length;
  response.writeHead(isPartial ? 206 : 200, {
    etag,
    ...(file.hasRanges === false ? {} : { 'accept-ranges': 'bytes' }),
    ...(isPartial ? { 'content-range': `bytes ${start}-${end - 1}/${announced}` } : {}),
    ...(fault?.kind === 'no-length' ? {} : { 'content-length': (toEnd ? announced : end) - start }),
    ...file.headers,
  });
  const body = bytes.subarray(start, end);
  state.sent += body.length;
  if (fault?.kind === 'length' && announced > bytes.length && toEnd) {
    return void response.write(body, () => response.destroy());
  }
  const cutAt = isFaulty && fault && 'at' in fault && toEnd ? Math.max(0, fault.at - start) : body.length;
  if (cutAt >= body.length) return void response.end(body);
  response.flushHeaders();
  response.write(body.subarray(0, Math.max(1, cutAt)), () => {
    if (fault?.kind !== 'drip') return void response.destroy();
    let at = Math.max(1, cutAt);
    const timer = setInterval(() => {
      response.write(body.subarray(at, at + 1));
      at += 1;
    }, 50);
    response.once('close', () => clearInterval(timer));
  });
}
