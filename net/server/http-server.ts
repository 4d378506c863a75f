import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { z } from 'zod';
import { KindlingError } from '../../protocol/error.ts';
import type { Person } from '../../protocol/people.ts';
import { plainAddress } from '../address-group.ts';
import { decodeText, parseJson, readBody } from './body.ts';
import { sendProblem } from './problem.ts';
import { type ApiRoute, FileAnswer, type RawRoute, RouteTable } from './route.ts';

/** A call of a documented operation, checked and allowed. */
export interface Operation {
  route: ApiRoute;
  path: Record<string, string>;
  body: unknown;
  person: Person | undefined;
  /** Address of the caller. */
  client: string;
}

export interface Answered {
  method: string;
  /** The path as in the routing table; undefined where there is no such address. */
  route: string | undefined;
  status: number;
  seconds: number;
}

export interface HttpServerOptions {
  api: readonly ApiRoute[];
  raw: readonly RawRoute[];
  /** Who calls, where the route asks. Throws KND_API_UNAUTHENTICATED or KND_API_FORBIDDEN. */
  authorize: (request: IncomingMessage, route: RawRoute | ApiRoute) => Promise<Person | undefined>;
  /** Does the work of an operation, and whatever belongs to it; by default the work alone. */
  perform?: <T>(operation: Operation, work: () => Promise<T>) => Promise<T>;
  onFailure: (thrown: unknown, request: IncomingMessage) => void;
  /** Told of every request when its answer has ended. */
  onAnswered?: (answered: Answered) => void;
  /** Names that requests may be addressed to besides IP addresses and localhost; undefined: any. */
  names?: () => readonly string[];
  /** The address for links; by default as the request gives it. */
  origin?: (authority: string, isSecure: boolean) => string;
  timeouts?: Partial<typeof TIMEOUTS>;
}

const TIMEOUTS = {
  headersMs: 20_000,
  /** A node on a slow link may take its time for a request, but not for ever. */
  requestMs: 120_000,
  /** Without a byte in either direction: a client that does not read its file, or sends nothing. */
  silenceMs: 60_000,
  checkMs: 5000,
};

/** The HTTP side of the stub. It does not listen: the listeners hand it their connections. */
export function createHttpServer(options: HttpServerOptions): Server {
  const routes = new RouteTable<RawRoute | ApiRoute>([...options.raw, ...options.api]);
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const server = createServer({ connectionsCheckingInterval: timeouts.checkMs }, (request, response) => {
    const startedAt = performance.now();
    let route: string | undefined;
    response.once('close', () => {
      const seconds = (performance.now() - startedAt) / 1000;
      options.onAnswered?.({ method: request.method ?? 'GET', route, status: response.statusCode, seconds });
    });
    const noteRoute = ({ path }: RawRoute | ApiRoute) => {
      route = path;
    };
    answer(request, response, noteRoute).catch((thrown: unknown) => {
      options.onFailure(thrown, request);
      sendProblem(response, thrown);
    });
  });
  server.headersTimeout = timeouts.headersMs;
  server.requestTimeout = timeouts.requestMs;
  server.timeout = timeouts.silenceMs;
  server.keepAliveTimeout = 65_000;
  // Node starts the clock of these time-outs when a server listens. This one never does: it is given connections.
  server.emit('listening');
  return server;

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    onRoute: (route: RawRoute | ApiRoute) => void,
  ): Promise<void> {
    const url = parseUrl(request);
    refuseForeignPages(request, url, options.names?.());
    const origin = options.origin?.(url.host, url.protocol === 'https:') ?? url.origin;
    const match = routes.find(request.method ?? 'GET', url.pathname);
    if (match.kind === 'none') throw new KindlingError('KND_API_NOT_FOUND', `there is no ${url.pathname}`);
    if (match.kind === 'wrong-method') {
      response.setHeader('allow', match.allow.join(', '));
      throw new KindlingError('KND_API_METHOD', `${url.pathname} does not know ${request.method}`);
    }
    const { route, path } = match;
    onRoute(route);
    const person = await options.authorize(request, route);
    if (isRaw(route)) {
      await route.answer({ request, response, path, query: url.searchParams, origin });
      return;
    }
    const body = route.body ? check(route.body, await readContent(request, route), 'body') : undefined;
    const query = route.query ? check(route.query, Object.fromEntries(url.searchParams), 'query') : undefined;
    const client = plainAddress(request.socket.remoteAddress);
    const { authorization } = request.headers;
    const perform = options.perform ?? ((_operation, work) => work());
    const commit = <T>(work: () => Promise<T>) => perform({ route, path, body, person, client }, work);
    const handle = async (inner: typeof commit) =>
      route.handle({ body, query, path, origin, client, person, authorization, commit: inner });
    const result = await (route.waits ? handle(commit) : commit(() => handle((work) => work())));
    if (result instanceof FileAnswer) sendFile(response, result);
    else sendJson(response, route.status ?? 200, result);
  }
}

function sendFile(response: ServerResponse, { type, name, bytes }: FileAnswer): void {
  response.writeHead(200, {
    'content-type': type,
    'content-length': bytes.length,
    'content-disposition': `attachment; filename="${name}"`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  response.end(bytes);
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  if (value === undefined || status === 204) {
    response.writeHead(204, { 'cache-control': 'no-store' }).end();
    return;
  }
  const text = JSON.stringify(value);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(text);
}

/** Turns what came over the wire into the type the schema promises, or names every field that is wrong. */
function check<T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const first = result.error.issues[0];
  const at = [where, ...(first?.path ?? [])].join('.');
  throw new KindlingError('KND_API_INVALID', `${at}: ${first?.message ?? 'invalid'}`, {
    evidence: { errors: result.error.issues.map(({ path, message }) => ({ at: path.join('.'), message })) },
  });
}

/**
 * A page in somebody's browser can send requests here: from another site, or, with a name of its own that it lets point here, as if
 * it were ours. Neither is answered. Programs send no Origin, and an address of digits cannot be made to point elsewhere. A person
 * who follows a link on another page to one of ours is let through: that page cannot read what the person then sees.
 */
function refuseForeignPages(request: IncomingMessage, url: URL, names: readonly string[] | undefined): void {
  const { origin } = request.headers;
  const site = request.headers['sec-fetch-site'];
  const isForeign = origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== url.host);
  if (isForeign || (site === 'cross-site' && !isOpenedByPerson(request))) {
    throw new KindlingError('KND_API_FORBIDDEN', 'pages of other sites may not call this server');
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (names && !isIP(host) && !isNamed(host, names)) {
    throw new KindlingError('KND_API_FORBIDDEN', 'this server does not answer to the name it was called by', {
      hint: 'Use an address of the server, or start it with --name.',
    });
  }
}

/** A link was followed: the browser shows the answer as a page of its own, in no frame. */
function isOpenedByPerson({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  );
}

/** Whether a host is one of the names, some of which may stand for a level: *.edge.example.com. */
export function isNamed(host: string, names: readonly string[]): boolean {
  const lower = host.toLowerCase();
  return (
    lower === 'localhost' ||
    names.some((name) => {
      const known = name.toLowerCase();
      return known.startsWith('*.') ? lower.replace(/^[^.]+/, '*') === known : lower === known;
    })
  );
}

async function readContent(request: IncomingMessage, { bodyType, bodyLimit }: ApiRoute): Promise<unknown> {
  const wanted = bodyType ?? 'application/json';
  const type = request.headers['content-type'] ?? '';
  if (type.split(';', 1)[0]?.trim().toLowerCase() !== wanted)
    throw new KindlingError('KND_API_INVALID', `the body must be ${wanted}, not "${type}"`);
  const bytes = await readBody(request, bodyLimit);
  return bodyType ? decodeText(bytes) : parseJson(bytes);
}

function isRaw(route: RawRoute | ApiRoute): route is RawRoute {
  return !('handle' in route);
}

function parseUrl(request: IncomingMessage): URL {
  const isSecure = 'encrypted' in request.socket;
  const authority = request.headers.host ?? 'localhost';
  try {
    return new URL(request.url ?? '/', `${isSecure ? 'https' : 'http'}://${authority}`);
  } catch (cause) {
    throw new KindlingError('KND_API_INVALID', 'the request has no usable address', { cause });
  }
}
