import { KindlingError } from '../../../protocol/error.ts';
import type { Transport } from '../interface.ts';
import { HttpConnection } from './connection.ts';
import type { BodySink, ResponseHead } from './response-parser.ts';

const MAX_REDIRECTS = 10;
const SMALL_TIMEOUT_MS = 60_000;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export interface GetOptions {
  transport: Transport;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
  /** A connection to try first; the one that was used is handed back for the next request. */
  connection?: HttpConnection | undefined;
  /** Called as soon as there is a connection, so that it can be resumed or destroyed from outside. */
  onConnection?: (connection: HttpConnection) => void;
  /** Called with the head of the final answer (redirects are followed before); gives the taker of the body. */
  onHead: (head: ResponseHead, url: URL) => BodySink;
}

/** One GET with redirects followed; resolves with the connection when the whole body has been taken. */
export async function get(source: string, options: GetOptions): Promise<HttpConnection> {
  let url = parseUrl(source);
  const first = url;
  let connection = options.connection;
  for (let hop = 0; ; hop += 1) {
    if (!connection?.isReusable || connection.origin !== url.origin) {
      connection?.destroy();
      connection = await HttpConnection.open(withoutCredentials(url), options.transport, options.signal);
    }
    options.onConnection?.(connection);
    let location: string | undefined;
    const here = url;
    await connection.request({
      url: withoutCredentials(url),
      headers: requestHeaders(url, first, options),
      onHead: (head) => {
        if (REDIRECTS.has(head.status) && head.headers['location'] !== undefined) {
          location = head.headers['location'];
          return (bytes) => bytes.length;
        }
        return options.onHead(head, here);
      },
    });
    if (location === undefined) return connection;
    if (hop === MAX_REDIRECTS) {
      throw new KindlingError('KND_IMAGE_REDIRECT', `${source} redirects more than ${MAX_REDIRECTS} times`);
    }
    const next = parseUrl(new URL(location, url).href);
    if (url.protocol === 'https:' && next.protocol !== 'https:') {
      throw new KindlingError('KND_IMAGE_REDIRECT', `${url.host} redirects from https to ${next.href}`);
    }
    url = next;
  }
}

export interface SmallGetOptions extends Omit<GetOptions, 'onHead' | 'onConnection'> {
  /** Takes the connection for the next request; without it the connection is closed. */
  keepConnection?: (connection: HttpConnection) => void;
  /** For the whole answer once connected: small files have no reason to take long. */
  timeoutMs?: number;
}

/** Reads a small file (a manifest, a signature) whole; undefined when the server does not have it. */
export async function getSmall(
  source: string,
  options: SmallGetOptions,
  maxLength: number,
): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  let status = 0;
  let open: HttpConnection | undefined;
  const deadline = setTimeout(() => open?.destroy(), options.timeoutMs ?? SMALL_TIMEOUT_MS);
  const connection = await get(source, {
    ...options,
    onConnection: (used) => {
      open = used;
    },
    onHead: (head) => {
      status = head.status;
      return (bytes) => {
        length += bytes.length;
        if (length > maxLength) throw new Error(`${source} is longer than ${maxLength} bytes`);
        parts.push(Buffer.from(bytes));
        return bytes.length;
      };
    },
  }).finally(() => clearTimeout(deadline));
  if (options.keepConnection && connection.isReusable) options.keepConnection(connection);
  else connection.destroy();
  if (status === 404 || status === 410) return undefined;
  if (status !== 200 && status !== 206) throw statusError(status, source);
  return Buffer.concat(parts);
}

/** Names a status that is not the answer we need. */
export function statusError(status: number, source: string): KindlingError {
  if (status === 404 || status === 410) {
    return new KindlingError('KND_IMAGE_NOT_FOUND', `${redact(source)} is not there (${status})`);
  }
  if (status >= 500 || status === 429 || status === 408) {
    return new KindlingError('KND_IMAGE_SERVER_ERROR', `${redact(source)} answered ${status}`);
  }
  return new KindlingError('KND_IMAGE_REFUSED', `${redact(source)} answered ${status}`);
}

/** The address without its password, for messages. */
export function redact(source: string): string {
  const url = URL.parse(source);
  if (!url) return source;
  if (url.password) url.password = '***';
  return url.href;
}

function parseUrl(source: string): URL {
  const url = URL.parse(source);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new KindlingError('KND_USAGE', `${redact(source)} is not an http or https address`);
  }
  return url;
}

function withoutCredentials(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  bare.hash = '';
  return bare;
}

/** Credentials go to the origin they were meant for, and nowhere else. */
function requestHeaders(url: URL, first: URL, options: GetOptions): Record<string, string> {
  const headers: Record<string, string> = {
    'user-agent': 'kindling',
    accept: '*/*',
    'accept-encoding': 'identity',
  };
  if (url.origin === first.origin) {
    const { basicAuth, bearerToken } = options.transport;
    if (bearerToken) headers['authorization'] = `Bearer ${bearerToken}`;
    if (basicAuth) headers['authorization'] = basic(basicAuth.username, basicAuth.password);
    for (const [name, value] of Object.entries(options.transport.headers ?? {})) {
      headers[name.toLowerCase()] = value;
    }
  }
  if (url.username) {
    headers['authorization'] = basic(decodeURIComponent(url.username), decodeURIComponent(url.password));
  }
  return { ...headers, ...options.headers };
}

const basic = (username: string, password: string) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
