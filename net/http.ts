import http from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream/promises';
import type { SecureContext } from 'node:tls';
import { KindlingError } from '../protocol/error.ts';
import type { ErrorCode } from '../protocol/error-codes.ts';
import { type ProxySettings, proxyFor } from './proxy.ts';
import { redact } from './redact.ts';

/** How servers are reached: whom to believe, and through which proxies. */
export interface HttpNetwork {
  /** Without it the roots of this process. "anyone": certificates are not checked. */
  trust?: SecureContext | 'anyone' | undefined;
  proxies?: ProxySettings | undefined;
}

export interface HttpRequest {
  method?: string;
  headers?: http.OutgoingHttpHeaders;
  /** A stream is sent as it comes, in constant memory. */
  body?: string | Buffer | AsyncIterable<Uint8Array>;
  signal?: AbortSignal | undefined;
  /** How long nothing may move before the server counts as gone; 30 s by default. A slow taker of the body is not counted. */
  stallMs?: number;
  /** For GET and HEAD only. Login and cookies stay behind when the way leads to another origin. */
  followsRedirects?: boolean;
  /** Keep the connection for the next small request to the same server. */
  isConnectionKept?: boolean;
  /** What a failure is called; without it the bare error is thrown, for a caller that explains it (agent/connection/explain.ts). */
  code?: ErrorCode;
}

const STALL_MS = 30_000;
const MOST_REDIRECTS = 10;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Answers that are read whole are small; one that is not must not fill the memory of a node. */
const LARGEST_TEXT_BYTES = 16 * 1024 * 1024;

/**
 * Sends a request and gives the answer as soon as its head is there, whatever its status. Every HTTP exchange of Kindling goes
 * this way but the image stream, which has its own client (docs/decisions/124-one-http-client.md).
 */
export async function openResponse(
  network: HttpNetwork,
  address: string | URL,
  request: HttpRequest = {},
): Promise<HttpResponse> {
  let url = new URL(address);
  let { headers = {} } = request;
  const { method = 'GET' } = request;
  for (let hop = 0; ; hop += 1) {
    const raw = await send(network, url, { ...request, headers });
    const { location } = raw.headers;
    const isRedirect = REDIRECTS.has(raw.statusCode ?? 0) && location !== undefined;
    const mayFollow = request.followsRedirects === true && (method === 'GET' || method === 'HEAD');
    if (!isRedirect || !mayFollow) return new HttpResponse(raw, url, request);
    raw.destroy();
    if (hop === MOST_REDIRECTS) throw failure(request, `${redact(url.href)} redirects in circles`);
    const next = redirected(url, location, request);
    if (next.origin !== url.origin) headers = withoutLogin(headers);
    url = next;
  }
}

/** Sends a small request and reads the whole answer. */
export async function fetchText(
  network: HttpNetwork,
  address: string | URL,
  request: HttpRequest = {},
): Promise<{ status: number; headers: http.IncomingHttpHeaders; body: string }> {
  const response = await openResponse(network, address, { ...request, isConnectionKept: true });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/** The head of an answer, and its body as the caller wants it. A body that nobody reads must be discarded. */
export class HttpResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** The body as it comes, for a caller that passes it on; its errors have no code. */
  readonly raw: http.IncomingMessage;
  readonly #url: URL;
  readonly #request: HttpRequest;

  constructor(raw: http.IncomingMessage, url: URL, request: HttpRequest) {
    this.status = raw.statusCode ?? 0;
    this.headers = raw.headers;
    this.raw = raw;
    this.#url = url;
    this.#request = request;
  }

  /** The body piece by piece; one that breaks off, stalls or is longer than it may be is an error with the request's code. */
  async *pieces(limitBytes = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
    const shown = redact(this.#url.href);
    const tooLong = `${shown} sends more than ${limitBytes} bytes`;
    let count = 0;
    try {
      if (Number(this.headers['content-length']) > limitBytes) throw new Error(tooLong);
      for await (const piece of this.raw as AsyncIterable<Buffer>) {
        count += piece.length;
        if (count > limitBytes) throw new Error(tooLong);
        yield piece;
      }
    } catch (cause) {
      this.discard();
      this.#request.signal?.throwIfAborted();
      const isLong = cause instanceof Error && cause.message === tooLong;
      throw failure(this.#request, isLong ? tooLong : `${shown} broke off after ${count} bytes`, cause);
    }
  }

  async bytes(limitBytes = LARGEST_TEXT_BYTES): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(limitBytes)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  async text(limitBytes?: number): Promise<string> {
    return (await this.bytes(limitBytes)).toString();
  }

  /** The start of an answer that is not the wanted one, for a message: what a peer adds to an error must not become one itself. */
  async excerpt(): Promise<string> {
    const text = await this.text(64 * 1024).catch(() => '');
    return text.trim().slice(0, 200);
  }

  discard(): void {
    this.raw.destroy();
  }
}

async function send(network: HttpNetwork, url: URL, request: HttpRequest): Promise<http.IncomingMessage> {
  const proxy = proxyFor(url, network.proxies ?? {});
  const { body, signal, stallMs = STALL_MS } = request;
  signal?.throwIfAborted();
  const { promise: answered, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  const outgoing = (url.protocol === 'https:' ? https : http).request(url, {
    method: request.method ?? 'GET',
    headers: request.headers ?? {},
    timeout: stallMs,
    agent: agentFor(network, url.protocol, proxy, request.isConnectionKept ?? false),
    ...(signal ? { signal } : {}),
  });
  let answer: http.IncomingMessage | undefined;
  outgoing.on('response', (response) => {
    answer = response;
    resolve(response);
  });
  // Unasked, and without a taker Node would drop the connection and say nothing.
  outgoing.on('upgrade', (_, socket) => {
    socket.destroy();
    reject(new Error('it changes to another protocol'));
  });
  outgoing.on('error', reject); // stays, because what goes wrong after the head shows up here as well
  outgoing.on('timeout', () => {
    if (answer && answer.readableLength > 0) {
      answer.socket.setTimeout(stallMs); // there is something to take: the taker is slow, not the server
      return;
    }
    const silence = new Error(`silent for ${stallMs / 1000} s`);
    answer?.destroy(silence); // by itself it would only say that it was aborted
    outgoing.destroy(silence);
  });
  const isStream = body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body);
  try {
    if (isStream) return await sendStream(body, outgoing, answered);
    outgoing.end(body);
    return await answered;
  } catch (cause) {
    signal?.throwIfAborted();
    // The server closed a connection that was kept, at the very moment we used it again: not a failure of the server.
    const isStale = outgoing.reusedSocket && (cause as NodeJS.ErrnoException).code === 'ECONNRESET';
    if (isStale && !isStream) return send(network, url, request);
    const through = proxy ? ` through the proxy ${proxy.host}` : '';
    throw failure(request, `${redact(url.href)} cannot be reached${through}: ${reasonOf(cause)}`, cause);
  }
}

/** A server that refuses may do so before it has all; one that accepts is believed once it has. */
async function sendStream(
  body: AsyncIterable<Uint8Array>,
  outgoing: http.ClientRequest,
  answered: Promise<http.IncomingMessage>,
): Promise<http.IncomingMessage> {
  const sent = pipeline(body, outgoing);
  sent.catch(() => {}); // after a refusal nobody waits for it any more
  answered.catch(() => {}); // what ended the sending says more
  const answer = await Promise.race([answered, sent.then(() => answered)]);
  if ((answer.statusCode ?? 0) < 400) await sent;
  return answer;
}

function redirected(from: URL, location: string, request: HttpRequest): URL {
  const next = URL.parse(location, from);
  if (!next || !/^https?:$/.test(next.protocol))
    throw failure(request, `${redact(from.href)} redirects to an address that is not of the web`);
  if (from.protocol === 'https:' && next.protocol === 'http:')
    throw failure(request, `${redact(from.href)} redirects from https to ${redact(next.href)}`);
  // A Location with the whole address does not repeat the login.
  if (next.origin === from.origin && !next.username) {
    next.username = from.username;
    next.password = from.password;
  }
  return next;
}

function withoutLogin(headers: http.OutgoingHttpHeaders): http.OutgoingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !/^(authorization|cookie|proxy-authorization)$/i.test(name)),
  );
}

/** What somebody on our side named already stays as it is: a disk that cannot be read is no fault of the server. */
function failure({ code }: HttpRequest, message: string, cause?: unknown): unknown {
  if (cause instanceof KindlingError) return cause;
  if (code === undefined) return cause ?? new Error(message);
  return new KindlingError(code, message, { cause, retryable: true });
}

/** Where a name has several addresses and none answers, Node's error has no message, but a code. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ((cause as NodeJS.ErrnoException).code ?? 'no reason given');
}

/** One agent per way to a server, so that small requests share connections; large bodies get a connection of their own. */
function agentFor(
  network: HttpNetwork,
  protocol: string,
  proxy: URL | undefined,
  isKept: boolean,
): http.Agent {
  const agents = AGENTS.get(network) ?? new Map<string, http.Agent>();
  AGENTS.set(network, agents);
  const key = `${protocol} ${proxy?.href ?? ''} ${isKept}`;
  const known = agents.get(key);
  if (known) return known;
  const options = {
    keepAlive: isKept,
    ...(proxy ? { proxyEnv: { HTTP_PROXY: proxy.href, HTTPS_PROXY: proxy.href } } : {}),
  };
  const agent =
    protocol === 'https:' ? new https.Agent({ ...options, ...tlsOptions(network) }) : new http.Agent(options);
  agents.set(key, agent);
  return agent;
}

function tlsOptions({ trust }: HttpNetwork): https.AgentOptions {
  if (trust === 'anyone') return { rejectUnauthorized: false };
  return trust ? { secureContext: trust } : {};
}

const AGENTS = new WeakMap<HttpNetwork, Map<string, http.Agent>>();
