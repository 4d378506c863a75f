import { markdownTable } from '../../../formats/markdown-table.ts';
import type { ApiRoute } from '../../../net/server/route.ts';
import { rightOf } from '../../people/rights.ts';
import { openApiDocument } from '../openapi.ts';
import { type ApiParts, apiRoutes } from './routes.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  items?: Schema;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: string[];
  default?: unknown;
}

const FIXED_PART = `# HTTP API of the stub

Everything below is on the one port of \`kindling serve\`. The machine-readable form is \`/api/v1/openapi.json\` (OpenAPI 3.1), made from the
schemas that validate; this page is made from the same (\`node setup/reference-pages.ts\`).

- **Who may call.** With TLS (the default) calls that name a right need \`Authorization: Bearer …\` with the token of a person whose
  [role](roles.md) has it; the token in \`operator-token\` of the state folder has every right. With \`--plain\` programs on the same machine
  are not asked, unless \`--auth required\` says so.
- **Errors** are \`application/problem+json\` with \`code\`, \`title\`, \`hint\`, \`retryable\` and often \`evidence\`; codes are in
  [errors.md](errors.md). Bodies are JSON, at most 4 MiB; an unknown field is an error.
- **\`{id}\` of a node** is its id, name, UUID, serial or MAC.

## Other addresses
`;

const OTHER_ADDRESSES = [
  [
    '`GET /api/v1/events[?node=ID][&types=node,workflow,log,netboot,floor][&after=EVENT]`',
    'server-sent events; `floor` (only when asked for) has a whole row, its group before (`was`), or null for a node that is gone. `Last-Event-ID` resumes; `missed` says that too much has happened since (nodes:read)',
  ],
  [
    '`POST /realms/master/protocol/openid-connect/token`',
    'Keycloak’s token endpoint: `client_credentials`, `password`, `refresh_token`',
  ],
  ['`GET /realms/master/protocol/openid-connect/certs`', 'the keys that sign tokens (JWKS)'],
  ['`GET /realms/master/.well-known/openid-configuration`', 'where these are'],
  ['`GET /token`', 'the release token (`anonymous`)'],
  ['`POST /v1/logs`', 'OTLP/HTTP logs, JSON or protobuf, gzip allowed'],
  ['`GET /tink-stack/…`, `GET /files-edge-orch/…`', 'files, with ranges, ETag and 304'],
  [
    '`GET /healthz`, `GET /site-ca.crt`',
    'whether it can work (503 with the reason while its state folder fails); the site’s CA',
  ],
  ['gRPC on the same port', 'both onboarding services, `proto.WorkflowService`, health, reflection'],
];

/** docs/reference/http-api.md. The routes are only looked at, so they need none of their parts. */
export function httpApiPage(): string {
  const routes = apiRoutes({} as ApiParts);
  const document = openApiDocument(routes, '');
  const { schemas } = document['components'] as { schemas: Record<string, Schema> };
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  const sections = tags.map((tag) => operationSection(tag, routes, document['paths'] as Paths));
  const objects = Object.entries(schemas)
    .toSorted(([a], [b]) => a.localeCompare(b, 'en'))
    .map(schemaSection);
  return [
    FIXED_PART,
    `${markdownTable(['address', 'what it is'], OTHER_ADDRESSES)}\n`,
    ...sections,
    '## Objects\n',
    ...objects,
  ].join('\n');
}

type Paths = Record<string, Record<string, { requestBody?: Body; responses: Record<string, Body> }>>;
interface Body {
  content?: Record<string, { schema: Schema }>;
}

function operationSection(tag: string, routes: readonly ApiRoute[], paths: Paths): string {
  const rows = routes
    .filter((route) => route.tag === tag)
    .map((route) => {
      const operation = paths[route.path]?.[route.method.toLowerCase()];
      const answer = operation?.responses[String(route.status ?? 200)]?.content?.['application/json']?.schema;
      const body = operation?.requestBody?.content?.['application/json']?.schema;
      return [
        `\`${route.method} ${route.path}\``,
        route.summary,
        body ? describe(body) : '',
        `${route.status ?? 200}${answer ? ` ${describe(answer)}` : ''}`,
        route.access === 'anyone' ? 'anyone' : (rightOf(route) ?? 'nobody'),
      ];
    });
  return `## ${tag[0]?.toUpperCase()}${tag.slice(1)}\n\n${markdownTable(['operation', 'what it does', 'body', 'answer', 'who'], rows)}\n`;
}

function schemaSection([name, schema]: [string, Schema]): string {
  const rows = Object.entries(schema.properties ?? {}).map(([field, type]) => [
    `\`${field}\`${schema.required?.includes(field) ? '' : ' (optional)'}`,
    describe(type),
    [type.description ?? '', type.default === undefined ? '' : `default \`${JSON.stringify(type.default)}\``]
      .filter(Boolean)
      .join('; '),
  ]);
  const text = schema.description ? `${schema.description}\n\n` : '';
  return `### ${name}\n\n${text}${markdownTable(['field', 'type', 'meaning'], rows)}\n`;
}

/** A type in a few words. */
function describe(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) ?? '';
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.anyOf) return schema.anyOf.map(describe).join(' or ');
  if (schema.type === 'array') return `list of ${schema.items ? describe(schema.items) : 'anything'}`;
  if (schema.properties) {
    return `{ ${Object.entries(schema.properties)
      .map(([field, type]) => `${field}${schema.required?.includes(field) ? '' : '?'}: ${describe(type)}`)
      .join(', ')} }`;
  }
  if (schema.type === 'object') return 'object';
  return [schema.type ?? 'anything'].flat().join(' or ');
}
