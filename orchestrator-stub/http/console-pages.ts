import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import type { RawRoute } from '../../net/server/route.ts';
import { KindlingError } from '../../protocol/error.ts';
import { listOwnFiles, readOwnFile } from '../../system/own-file.ts';

/** Made by setup/generate-console.ts. */
const FOLDER = 'console/generated';

/** Addresses that a person may open, reload and send to somebody. All are the same page; its script reads the address. */
export const CONSOLE_PAGES = [
  '/',
  '/nodes/{id}',
  '/import',
  '/import/{id}',
  '/profiles',
  '/profiles/{name}',
  '/templates',
  '/templates/{name}',
  '/site',
  '/files',
  '/people',
  '/audit',
] as const;

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The names that browsers give the forms in which a file lies there, the best first. */
const ENCODINGS = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
] as const;

/** Nothing from elsewhere, nothing inline, in nobody's frame. The script reaches this server and no other. */
const SECURITY_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

interface ConsoleFile {
  type: string;
  etag: string;
  plain: Buffer;
  encoded: { name: string; bytes: Buffer }[];
}

/** The console: one page at several addresses, and the files it is made of. It holds no secret, so anyone may load it. */
export function consoleRoutes(): RawRoute[] {
  let loaded: Map<string, ConsoleFile> | undefined;
  const file = (name: string): ConsoleFile => {
    loaded ??= loadFiles();
    const found = loaded.get(name);
    if (!found) throw new KindlingError('KND_API_NOT_FOUND', `the console has no file ${name}`);
    return found;
  };
  return [
    ...CONSOLE_PAGES.map(
      (path): RawRoute => ({
        method: 'GET',
        path,
        access: 'anyone',
        answer: ({ request, response }) => send(request, response, file('index.html'), 'no-cache'),
      }),
    ),
    {
      method: 'GET',
      path: '/console/{file}',
      access: 'anyone',
      answer: ({ request, response, path }) => {
        const name = path['file'] ?? '';
        const isHashed = /-[A-Z0-9]{8}\.(js|css)$/.test(name);
        send(request, response, file(name), isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
      },
    },
  ];
}

/** All of them, in memory: together they are smaller than one page of photos, and a rebuild under us changes nothing. */
function loadFiles(): Map<string, ConsoleFile> {
  const names = listOwnFiles(FOLDER);
  if (names.length === 0)
    throw new KindlingError('KND_CONSOLE_MISSING', `the console was not built into ${FOLDER}`);
  return new Map(
    names
      .filter((name) => TYPES[extname(name)] !== undefined)
      .map((name) => {
        const plain = readOwnFile(`${FOLDER}/${name}`);
        return [
          name,
          {
            type: TYPES[extname(name)] ?? '',
            etag: `"${createHash('sha256').update(plain).digest('hex').slice(0, 16)}"`,
            plain,
            encoded: ENCODINGS.map(({ name: encoding, ending }) => ({
              name: encoding,
              bytes: readOwnFile(`${FOLDER}/${name}${ending}`),
            })),
          },
        ];
      }),
  );
}

function send(request: IncomingMessage, response: ServerResponse, file: ConsoleFile, caching: string): void {
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': file.type,
    'cache-control': caching,
    etag: file.etag,
    vary: 'accept-encoding',
  };
  if (request.headers['if-none-match'] === file.etag) {
    response.writeHead(304, headers).end();
    return;
  }
  const accepted = String(request.headers['accept-encoding'] ?? '').split(/\s*,\s*/);
  const encoded = file.encoded.find(({ name }) => accepted.includes(name));
  const bytes = encoded?.bytes ?? file.plain;
  response.writeHead(200, {
    ...headers,
    ...(encoded ? { 'content-encoding': encoded.name } : {}),
    'content-length': bytes.length,
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}
