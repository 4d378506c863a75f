import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { z } from 'zod';
import { KindlingError } from '../../protocol/error.ts';
import { parseJson, readBody } from './body.ts';
import { sendProblem } from './problem.ts';
import { type Access, type ApiRoute, type RawRoute, RouteTable } from './route.ts';

export interface HttpServerOptions {
  api: readonly ApiRoute[];
  raw: readonly RawRoute[];
  /** Throws KND_API_UNAUTHENTICATED or KND_API_FORBIDDEN. */
  authorize: (request: IncomingMessage, access: Access) => Promise<void>;
  onFailure: (thrown: unknown, request: IncomingMessage) => void;
}

/** The HTTP side of the stub. It does not listen: the listeners hand it their connections. */
export function createHttpServer(options: HttpServerOptions): Server {
  const routes = new RouteTable<RawRoute | ApiRoute>([...options.raw, ...options.api]);
  const server = createServer((request, response) => {
    answer(request, response).catch((thrown: unknown) => {
      options.onFailure(thrown, request);
      sendProblem(response, thrown);
    });
  });
  // A node on a slow link may take its time for a request, but not for ever.
  server.headersTimeout = 20_000;
  server.requestTimeout = 120_000;
  server.keepAliveTimeout = 65_000;
  return server;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = parseUrl(request);
    const match = routes.find(request.method ?? 'GET', url.pathname);
    if (match.kind === 'none') throw new KindlingError('KND_API_NOT_FOUND', `there is no ${url.pathname}`);
    if (match.kind === 'wrong-method') {
      response.setHeader('allow', match.allow.join(', '));
      throw new KindlingError('KND_API_METHOD', `${url.pathname} does not know ${request.method}`);
    }
    const { route, path } = match;
    await options.authorize(request, route.access);
    if (isRaw(route)) {
      await route.answer({ request, response, path, query: url.searchParams, origin: url.origin });
      return;
    }
    const body = route.body ? check(route.body, parseJson(await readBody(request)), 'body') : undefined;
    const query = route.query ? check(route.query, Object.fromEntries(url.searchParams), 'query') : undefined;
    const client = (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
    const result = await route.handle({ body, query, path, origin: url.origin, client });
    sendJson(response, route.status ?? 200, result);
  }
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
