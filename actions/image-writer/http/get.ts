import { redact } from '../../../net/redact.ts';
import { KindlingError } from '../../../protocol/error.ts';
import type { ErrorCode } from '../../../protocol/error-codes.ts';
import type { Transport } from '../interface.ts';
import { HttpConnection } from './connection.ts';
import type { BodySink, ResponseHead } from './response-parser.ts';

const MAX_REDIRECTS = 10;
const SMALL_TIMEOUT_MS = 60_000;
const HTTP: ReadonlySet<string> = new Set(['http:', 'https:']);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export interface GetOptions {
  transport: Transport;
  headers?: Readonly<Record<string, string>>;
  /** Aborted when nobody waits for the answer any more: a connection that is made only then would go on otherwise. */
  signal?: AbortSignal;
  /** A connection to try first; the one that was used is handed back for the next request. */
  connection?: HttpConnection | undefined;
  /** Default 10; 0 for a server that has no reason to send us elsewhere. */
  maxRedirects?: number;
  /** Called as soon as there is a connection, so that it can be resumed or destroyed from outside. */
  onConnection?: (connection: HttpConnection) => void;
  /** Called with the head of the final answer (redirects are followed before); gives the taker of the body. */
  onHead: (head: ResponseHead, url: URL) => BodySink;
  /** Where the body's taker wants its next bytes, if it can say; they may come from elsewhere all the same. */
  room?: () => Buffer | undefined;
}

/** One GET with redirects followed; resolves with the connection when the whole body has been taken. */
export async function get(source: string, options: GetOptions): Promise<HttpConnection> {
  let url = parseUrl(source);
  const first = url;
  let connection = options.connection;
  for (let hop = 0; ; hop += 1) {
    let location: string | undefined;
    let isAnswered = false;
    const here = url;
    const ask = async (used: HttpConnection) => {
      options.onConnection?.(used);
      await used.request({
        url: withoutCredentials(here),
        headers: requestHeaders(here, first, options),
        room: options.room,
        onHead: (head) => {
          isAnswered = true;
          if (REDIRECTS.has(head.status) && head.headers['location'] !== undefined) {
            location = head.headers['location'];
            return (bytes) => bytes.length;
          }
          return options.onHead(head, here);
        },
      });
    };
    const open = async () => {
      const opened = await HttpConnection.open(withoutCredentials(here), options.transport, options.signal);
      if (!options.signal?.aborted) return opened;
      opened.destroy();
      throw options.signal.reason;
    };
    if (connection?.isReusable && connection.origin === url.origin) {
      try {
        await ask(connection);
      } catch (thrown) {
        // RFC 9112 9.3.1: the server may have closed a connection that it took for idle, just as we asked
        if (isAnswered || options.signal?.aborted) throw thrown;
        connection = await open();
        await ask(connection);
      }
    } else {
      connection?.destroy();
      connection = await open();
      await ask(connection);
    }
    if (location === undefined) return connection;
    const { maxRedirects = MAX_REDIRECTS } = options;
    if (hop === maxRedirects) {
      throw new KindlingError(
        'KND_IMAGE_REDIRECT',
        `${redact(source)} redirects more than ${maxRedirects} times`,
      );
    }
    url = redirected(url, location);
  }
}

export interface SmallGetOptions extends Omit<GetOptions, 'onHead' | 'onConnection'> {
  /** Takes the connection for the next request; without it the connection is closed. */
  keepConnection?: (connection: HttpConnection) => void;
  /** For the whole answer, connecting included: small files have no reason to take long. */
  timeoutMs?: number;
  /** What the file must begin with; anything else counts as not there, and is not read to its end. */
  magic?: string;
}

/** Reads a small file (a manifest, a signature) whole; undefined when the server does not have it. */
export async function getSmall(
  source: string,
  options: SmallGetOptions,
  maxLength: number,
): Promise<Buffer | undefined> {
  const { timeoutMs = SMALL_TIMEOUT_MS } = options;
  const parts: Buffer[] = [];
  let length = 0;
  let status = 0;
  let open: HttpConnection | undefined;
  const isFound = () => status === 200 || status === 206;
  const isUnwanted = () => isFound() && isSomethingElse(parts, options.magic);
  const late = new AbortController();
  const signal = AbortSignal.any([late.signal, ...(options.signal ? [options.signal] : [])]);
  signal.addEventListener('abort', () => open?.destroy(), { once: true });
  const timer = setTimeout(
    () => late.abort(new Error(`${redact(source)} gave no whole answer within ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  const connection = await get(source, {
    ...options,
    signal,
    onConnection: (used) => {
      open = used;
    },
    onHead: (head) => {
      status = head.status;
      return (bytes) => {
        length += bytes.length;
        if (length > maxLength) {
          throw new KindlingError('KND_IMAGE_LENGTH', `${redact(source)} is longer than ${maxLength} bytes`);
        }
        parts.push(Buffer.from(bytes));
        if (isUnwanted()) open?.destroy();
        return bytes.length;
      };
    },
  })
    .catch((thrown: unknown) => {
      if (isUnwanted()) return undefined;
      throw signal.aborted ? signal.reason : thrown;
    })
    .finally(() => clearTimeout(timer));
  if (!connection) return undefined;
  if (options.keepConnection && connection.isReusable) options.keepConnection(connection);
  else connection.destroy();
  if (status === 404 || status === 410) return undefined;
  if (!isFound()) throw statusError(status, source);
  const whole = Buffer.concat(parts);
  return isSomethingElse([whole], options.magic) || whole.length < (options.magic?.length ?? 0)
    ? undefined
    : whole;
}

/** A server that answers every path with a page of its own, or with the image, does not have the file. */
function isSomethingElse([first]: readonly Buffer[], magic = ''): boolean {
  const start = first?.toString('latin1', 0, magic.length) ?? '';
  return !magic.startsWith(start);
}

/** Names a status that is not the answer we need. */
export function statusError(status: number, source: string): KindlingError {
  if (status === 404 || status === 410) {
    return new UnexpectedStatus('KND_IMAGE_NOT_FOUND', `${redact(source)} is not there (${status})`, status);
  }
  const isServerAtFault = status >= 500 || status === 429 || status === 408;
  const code = isServerAtFault ? 'KND_IMAGE_SERVER_ERROR' : 'KND_IMAGE_REFUSED';
  return new UnexpectedStatus(code, `${redact(source)} answered ${status}`, status);
}

/** The image's server has answered, and the answer may be another one later. */
export class UnexpectedStatus extends KindlingError {
  constructor(code: ErrorCode, message: string, status: number) {
    super(code, message, { evidence: { status } });
  }
}

/** Where a Location leads, if we follow it. */
function redirected(from: URL, location: string): URL {
  const next = URL.parse(location, from);
  if (!next || !HTTP.has(next.protocol)) {
    throw new KindlingError('KND_IMAGE_REDIRECT', `${from.host} redirects to what is no http address`);
  }
  if (from.protocol === 'https:' && next.protocol !== 'https:') {
    throw new KindlingError(
      'KND_IMAGE_REDIRECT',
      `${from.host} redirects from https to ${redact(next.href)}`,
    );
  }
  // a Location with the whole address does not repeat the login; curl keeps it for the same host too
  if (next.origin === from.origin && !next.username) {
    next.username = from.username;
    next.password = from.password;
  }
  return next;
}

function parseUrl(source: string): URL {
  const url = URL.parse(source);
  if (!url || !HTTP.has(url.protocol)) {
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
  const { basicAuth, bearerToken, credentialOrigins } = options.transport;
  if (url.origin === first.origin && credentialOrigins?.includes(url.origin) !== false) {
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
