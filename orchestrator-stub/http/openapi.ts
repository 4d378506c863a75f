import { z } from 'zod';
import type { ApiRoute } from '../../net/server/route.ts';

/** The OpenAPI 3.1 document of the routes: made from the schemas that validate, so it cannot be out of date. */
export function openApiDocument(routes: readonly ApiRoute[], version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  const schemas: Record<string, unknown> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Kindling orchestrator stub',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { ...schemas, Problem: PROBLEM },
      securitySchemes: { person: { type: 'http', scheme: 'bearer' } },
      responses: {
        Problem: {
          description: 'What went wrong, with a stable code',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
    },
  };
}

const PROBLEM = {
  type: 'object',
  description: 'RFC 9457, with the codes of docs/reference/errors.md',
  required: ['type', 'title', 'status', 'code', 'hint', 'retryable'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string' },
    hint: { type: 'string' },
    retryable: { type: 'boolean' },
    evidence: { type: 'object' },
    causes: { type: 'array', items: { type: 'string' } },
  },
};

function operation(route: ApiRoute, schemas: Record<string, unknown>): Record<string, unknown> {
  const status = String(route.status ?? 200);
  const pathParameters = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const answer =
    status === '204'
      ? { description: 'Done' }
      : { description: 'Done', content: answerContent(route, schemas) };
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: [route.tag],
    ...(route.access === 'person' ? { security: [{ person: [] }] } : {}),
    parameters: [...pathParameters, ...queryParameters(route)],
    ...(route.body
      ? { requestBody: { required: true, content: bodyContent(route.body, route, schemas) } }
      : {}),
    responses: { [status]: answer, default: { $ref: '#/components/responses/Problem' } },
  };
}

function bodyContent(
  body: z.ZodType,
  { bodyType }: ApiRoute,
  schemas: Record<string, unknown>,
): Record<string, unknown> {
  const content = json(body, schemas, 'input');
  return bodyType ? { [bodyType]: content['application/json'] } : content;
}

function answerContent(
  { files, answer }: ApiRoute,
  schemas: Record<string, unknown>,
): Record<string, unknown> {
  if (!files) return json(answer, schemas, 'output');
  return Object.fromEntries(files.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]));
}

function queryParameters({ query }: ApiRoute): unknown[] {
  if (!(query instanceof z.ZodObject)) return [];
  return Object.entries(query.shape as Record<string, z.ZodType>).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema: stripped(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })),
  }));
}

/** Schemas with an id become components; what goes in and what comes out may differ (defaults), so both are kept. */
function json(
  schema: z.ZodType,
  schemas: Record<string, unknown>,
  direction: 'input' | 'output',
): Record<string, unknown> {
  const made = z.toJSONSchema(schema, {
    io: direction,
    unrepresentable: 'any',
    reused: 'inline',
  }) as Record<string, unknown> & { $defs?: Record<string, unknown>; id?: string };
  const { $defs = {}, ...own } = made;
  const suffix = direction === 'input' ? 'Input' : '';
  const moved = (value: unknown): unknown => moveReferences(value, suffix);
  for (const [name, definition] of Object.entries($defs))
    schemas[name + suffix] = moved(stripped(definition));
  const id = schema.meta()?.['id'];
  const body = moved(stripped(own));
  // zod itself moves a schema with an id to the definitions where it is used more than once.
  if (typeof id !== 'string' || '$ref' in own) return { 'application/json': { schema: body } };
  schemas[id + suffix] = body;
  return { 'application/json': { schema: { $ref: `#/components/schemas/${id}${suffix}` } } };
}

function moveReferences(value: unknown, suffix: string): unknown {
  if (Array.isArray(value)) return value.map((each) => moveReferences(each, suffix));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) =>
      key === '$ref' && typeof each === 'string'
        ? [key, each.replace('#/$defs/', '#/components/schemas/') + suffix]
        : [key, moveReferences(each, suffix)],
    ),
  );
}

function stripped(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $schema: _schema, id: _id, ...rest } = schema as Record<string, unknown>;
  return rest;
}
