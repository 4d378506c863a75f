import { createReadStream, type Stats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import { KindlingError } from '../../protocol/error.ts';
import { plainAddress } from '../address-group.ts';
import { decideRange } from './range.ts';
import type { RawRoute } from './route.ts';

const TYPES: Record<string, string> = {
  '.crt': 'application/x-x509-ca-cert',
  '.der': 'application/x-x509-ca-cert',
  '.efi': 'application/efi',
  '.gz': 'application/gzip',
  '.ipxe': 'text/plain; charset=utf-8',
  '.json': 'application/json',
  '.pem': 'application/x-pem-file',
  '.txt': 'text/plain; charset=utf-8',
  '.xz': 'application/x-xz',
  '.zst': 'application/zstd',
};

/** Read ahead for one client; many that read slowly must not fill the memory. */
const BUFFER_BYTES = 256 * 1024;

/** Called when all bytes of an answer have been sent. */
type OnSent = (sent: { client: string; file: string; bytes: number; isEncrypted: boolean }) => void;

/** Boot artifacts and images as plain files with ranges and ETags, so that any CDN or nginx can take over. */
export function staticRoute(prefix: string, folders: readonly string[], onSent: OnSent = () => {}): RawRoute {
  return {
    method: 'GET',
    path: `${prefix}/{*}`,
    access: 'anyone',
    answer: async ({ request, response, path }) => {
      const segments = safeSegments(path['*'] ?? '');
      for (const folder of folders) {
        const file = await openInside(folder, segments);
        if (!file) continue;
        const bytes = await sendFile(request, response, file);
        const isEncrypted = request.socket instanceof TLSSocket;
        if (bytes !== undefined)
          onSent({
            client: plainAddress(request.socket.remoteAddress),
            file: segments.join('/'),
            bytes,
            isEncrypted,
          });
        return;
      }
      throw new KindlingError('KND_API_NOT_FOUND', `there is no ${prefix}/${segments.join('/')}`);
    },
  };
}

/** The parts of a path, or a refusal if one of them could lead elsewhere. */
export function safeSegments(rest: string): string[] {
  return rest.split('/').map((part) => {
    let segment: string;
    try {
      segment = decodeURIComponent(part);
    } catch {
      segment = '';
    }
    if (segment === '' || segment === '.' || segment === '..' || /[/\\\0]/.test(segment)) {
      throw new KindlingError('KND_API_INVALID', 'this is not the path of a file');
    }
    return segment;
  });
}

interface OpenedFile {
  path: string;
  stats: Stats;
}

/** A regular file below the folder; links may not lead out of it. */
async function openInside(folder: string, segments: string[]): Promise<OpenedFile | undefined> {
  try {
    const root = await realpath(folder);
    const path = await realpath(join(root, ...segments));
    if (!path.startsWith(root + sep)) return undefined;
    const stats = await stat(path);
    return stats.isFile() ? { path, stats } : undefined;
  } catch {
    return undefined;
  }
}

/** Gives how many bytes of the file were sent; undefined if none were meant to be, or the client went away. */
async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  file: OpenedFile,
): Promise<number | undefined> {
  const { path, stats } = file;
  const etag = `"${stats.size.toString(16)}-${Math.round(stats.mtimeMs * 1000).toString(16)}"`;
  const headers = {
    'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
    'accept-ranges': 'bytes',
    'last-modified': stats.mtime.toUTCString(),
    etag,
  };
  if (isUnchanged(request, etag, stats)) {
    response.writeHead(304, headers).end();
    return undefined;
  }
  const range = decideRange(request.headers.range, request.headers['if-range']?.toString(), etag, stats);
  if (range.kind === 'unsatisfiable') {
    response.writeHead(416, { ...headers, 'content-range': `bytes */${stats.size}` }).end();
    return undefined;
  }
  const { start, end } = range;
  const partial = range.kind === 'part' ? { 'content-range': `bytes ${start}-${end}/${stats.size}` } : {};
  response.writeHead(range.kind === 'part' ? 206 : 200, {
    ...headers,
    ...partial,
    'content-length': end - start + 1,
  });
  if (request.method === 'HEAD' || end < start) {
    response.end();
    return undefined;
  }
  // A node that goes away in the middle is nothing to report.
  try {
    await pipeline(createReadStream(path, { start, end, highWaterMark: BUFFER_BYTES }), response);
    return end - start + 1;
  } catch {
    return undefined;
  }
}

function isUnchanged({ headers }: IncomingMessage, etag: string, stats: Stats): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined)
    return tags === '*' || tags.split(/\s*,\s*/).some((tag) => tag.replace(/^W\//, '') === etag);
  const since = headers['if-modified-since'];
  return since !== undefined && Math.floor(stats.mtimeMs / 1000) * 1000 <= Date.parse(since);
}
