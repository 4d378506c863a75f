import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Person } from '../../protocol/people.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Who may call a route: people whose role allows it, or anyone (the route then checks for itself). */
export type Access = 'anyone' | 'person';

export interface RouteCall {
  request: IncomingMessage;
  response: ServerResponse;
  /** Decoded `{name}` parts of the path; `{*}` is the rest of it. */
  path: Record<string, string>;
  query: URLSearchParams;
  /** The request's own address, for links. */
  origin: string;
}

/** One line of the routing table outside the documented API: it answers by itself. */
export interface RawRoute {
  method: HttpMethod;
  path: string;
  access: Access;
  answer: (call: RouteCall) => void | Promise<void>;
}

/** An answer that is a file. */
export class FileAnswer {
  readonly type: string;
  readonly name: string;
  readonly bytes: Buffer;

  constructor(type: string, name: string, bytes: Buffer | string) {
    this.type = type;
    this.name = name;
    this.bytes = Buffer.from(bytes);
  }
}

/** One documented operation: what validates it also writes its part of the OpenAPI document. */
export interface ApiRoute<
  Body extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Answer extends z.ZodType = z.ZodType,
> {
  method: HttpMethod;
  path: string;
  access: Access;
  summary: string;
  tag: string;
  operationId: string;
  body?: Body;
  query?: Query;
  answer: Answer;
  status?: number;
  /** Media types of the answer where it is a file (FileAnswer) and no JSON. */
  files?: readonly string[];
  /** It waits for more than the store, so it says itself which part is to be done with `commit`. By default all of it is. */
  waits?: true;
  /** The body is text of this type, and the schema is for a string; by default it is JSON. */
  bodyType?: 'text/csv';
  /** Largest body in bytes; by default as for one gRPC message. */
  bodyLimit?: number;
  handle: (input: {
    body: z.output<Body>;
    query: z.output<Query>;
    path: Record<string, string>;
    origin: string;
    /** Address of the caller. */
    client: string;
    /** Who calls; nobody on routes that anyone may call. */
    person: Person | undefined;
    /** Does the part that changes something, together with whatever the server does around every change. */
    commit: <T>(work: () => Promise<T>) => Promise<T>;
    /** The header of that name, for routes that anyone may call and that do more for a node with its token. */
    authorization: string | undefined;
  }) => z.input<Answer> | Promise<z.input<Answer>>;
}

/** Keeps the types of one route together while the table holds many. */
export function apiRoute<
  Body extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Answer extends z.ZodType = z.ZodType,
>(route: ApiRoute<Body, Query, Answer>): ApiRoute {
  return route as unknown as ApiRoute;
}

interface Compiled<R> {
  route: R;
  segments: string[];
}

export type Match<R> =
  | { kind: 'found'; route: R; path: Record<string, string> }
  | { kind: 'wrong-method'; allow: HttpMethod[] }
  | { kind: 'none' };

/** Finds the route for a method and a path. There are a few dozen routes: trying each is quick enough. */
export class RouteTable<R extends { method: HttpMethod; path: string }> {
  readonly #routes: Compiled<R>[];

  constructor(routes: readonly R[]) {
    this.#routes = routes.map((route) => ({ route, segments: route.path.split('/').slice(1) }));
  }

  find(method: string, pathname: string): Match<R> {
    const parts = pathname.split('/').slice(1);
    const allow: HttpMethod[] = [];
    for (const { route, segments } of this.#routes) {
      const path = matchSegments(segments, parts);
      if (!path) continue;
      if (route.method === method || (method === 'HEAD' && route.method === 'GET')) {
        return { kind: 'found', route, path };
      }
      allow.push(route.method);
    }
    return allow.length > 0 ? { kind: 'wrong-method', allow } : { kind: 'none' };
  }
}

function matchSegments(segments: string[], parts: string[]): Record<string, string> | undefined {
  const path: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    if (segment === '{*}') {
      path['*'] = parts.slice(index).join('/');
      return path;
    }
    const part = parts[index];
    if (part === undefined) return undefined;
    if (segment.startsWith('{')) {
      const value = decode(part);
      if (!value) return undefined;
      path[segment.slice(1, -1)] = value;
    } else if (segment !== part) {
      return undefined;
    }
  }
  return parts.length === segments.length ? path : undefined;
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
