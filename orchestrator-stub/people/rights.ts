import type { Role } from '../../protocol/people.ts';

interface RightRow {
  /** What it allows, for docs/reference/roles.md. */
  meaning: string;
  /** Who has it, besides admins, who have every right. */
  roles: readonly Exclude<Role, 'admin'>[];
  /** "METHOD /path" as in the routing table. */
  routes: readonly string[];
  /** What it opens besides routes. */
  also?: string;
}

const EVERYBODY = ['viewer', 'technician', 'operator', 'auditor'] as const;

/**
 * Which role may do what, by which routes. A route that asks for a person and has no row here is refused to everybody, and
 * docs/reference/roles.md, which is made from this table, cannot be made.
 */
export const RIGHTS = {
  'self:read': {
    meaning: 'See who one is, and the tokens one has',
    roles: EVERYBODY,
    routes: ['GET /api/v1/me', 'GET /api/v1/me/tokens', 'GET /api/v1/device-codes/{id}'],
  },
  'self:change': {
    meaning:
      'Make a token for oneself that ends no later than the one in use, or give one to a program that shows a code; revoke one’s own',
    roles: EVERYBODY,
    routes: [
      'POST /api/v1/me/tokens',
      'DELETE /api/v1/me/tokens/{id}',
      'POST /api/v1/device-codes/{id}/approve',
    ],
  },
  'nodes:read': {
    meaning: 'See nodes, their logs, workflows and events',
    roles: EVERYBODY,
    routes: [
      'GET /api/v1/floor',
      'GET /api/v1/nodes',
      'GET /api/v1/nodes/{id}',
      'GET /api/v1/nodes/{id}/logs',
      'GET /api/v1/certificate-refusals',
      'GET /api/v1/workflows',
      'GET /api/v1/workflows/{id}',
      'GET /api/v1/events',
      'GET /metrics',
    ],
  },
  'records:read': {
    meaning: 'Shipping records and labels, which say who did what to a node; batches; the shift',
    roles: ['technician', 'operator', 'auditor'],
    routes: [
      'GET /api/v1/nodes/{id}/record',
      'GET /api/v1/nodes/{id}/label',
      'POST /api/v1/records',
      'GET /api/v1/signing-keys',
      'GET /api/v1/shift',
    ],
  },
  'site:read': {
    meaning: 'See the site’s settings, and which files it has for machines',
    roles: EVERYBODY,
    routes: ['GET /api/v1/site', 'GET /api/v1/files'],
  },
  'profiles:read': {
    meaning: 'See profiles and templates, whose texts may hold secrets; render a template',
    roles: ['technician', 'operator'],
    routes: [
      'GET /api/v1/profiles',
      'GET /api/v1/profiles/{name}',
      'GET /api/v1/templates',
      'POST /api/v1/templates/{name}/render',
    ],
  },
  'imports:read': {
    meaning: 'See the lists of machines that were imported',
    roles: ['technician', 'operator'],
    routes: ['GET /api/v1/imports', 'GET /api/v1/imports/{id}', 'GET /api/v1/imports/{id}/errors.csv'],
  },
  'nodes:install': {
    meaning:
      'Register, correct and let in a node, or a list of them; give one that has no system its first; undo an import of which nothing has booted',
    roles: ['technician', 'operator'],
    routes: [
      'POST /api/v1/nodes',
      'PATCH /api/v1/nodes/{id}',
      'POST /api/v1/nodes/{id}/onboard',
      'POST /api/v1/nodes/{id}/approve',
      'POST /api/v1/nodes/{id}/provision',
      'POST /api/v1/imports',
      'POST /api/v1/imports/{id}/start',
      'POST /api/v1/imports/{id}/undo',
      'POST /api/v1/workflows/{id}/pause',
      'POST /api/v1/workflows/{id}/resume',
      'POST /api/v1/workflows/{id}/retry',
    ],
    also: 'gRPC `CreateNodes`',
  },
  'nodes:erase': {
    meaning:
      'Everything that destroys data or takes a node away: re-provision, run a workflow, consent to a plan, accept other parts than ordered',
    roles: ['operator'],
    routes: [
      'DELETE /api/v1/nodes/{id}',
      'POST /api/v1/nodes/{id}/deauthorise',
      'POST /api/v1/nodes/{id}/accept-parts',
      'POST /api/v1/nodes/{id}/reprovision',
      'POST /api/v1/workflows',
      'POST /api/v1/workflows/{id}/cancel',
      'POST /api/v1/workflows/{id}/approve',
    ],
  },
  'profiles:change': {
    meaning: 'Say what is installed: profiles and templates',
    roles: ['operator'],
    routes: [
      'PUT /api/v1/profiles/{name}',
      'POST /api/v1/images/check',
      'DELETE /api/v1/profiles/{name}',
      'POST /api/v1/profiles/{name}/bill',
      'PUT /api/v1/templates/{name}',
      'DELETE /api/v1/templates/{name}',
    ],
  },
  'secrets:read': {
    meaning: 'Read the recovery key of an encrypted disk',
    roles: ['operator'],
    routes: ['GET /api/v1/nodes/{id}/recovery-keys'],
  },
  'site:change': {
    meaning: 'Change the site’s settings, which decide who is let in; take a new key for secrets',
    roles: [],
    routes: ['PATCH /api/v1/site', 'POST /api/v1/site/rotate-key'],
  },
  'people:read': {
    meaning: 'See people, their roles and when their tokens end',
    roles: ['auditor'],
    routes: ['GET /api/v1/users', 'GET /api/v1/tokens'],
  },
  'audit:read': {
    meaning: 'See who did what, and check that no line was changed',
    roles: ['auditor'],
    routes: ['GET /api/v1/audit', 'GET /api/v1/audit/verify'],
  },
  'people:change': {
    meaning: 'Add, disable and remove people; make and revoke their tokens',
    roles: [],
    routes: [
      'PUT /api/v1/users/{name}',
      'DELETE /api/v1/users/{name}',
      'POST /api/v1/users/{name}/disable',
      'POST /api/v1/users/{name}/enable',
      'POST /api/v1/users/{name}/tokens',
      'DELETE /api/v1/tokens/{id}',
    ],
  },
  'nodes:stand-in': {
    meaning: 'Speak as if one were any node, which shows every secret of its workflow',
    roles: [],
    routes: [],
    also: 'gRPC `WorkflowService`, `POST /v1/logs`',
  },
} as const satisfies Record<string, RightRow>;

export type Right = keyof typeof RIGHTS;

const ROWS: readonly [Right, RightRow][] = Object.entries(RIGHTS) as [Right, RightRow][];
const RIGHT_OF_ROUTE = new Map(ROWS.flatMap(([right, { routes }]) => routes.map((route) => [route, right])));

/** The right that a route asks for; undefined: it has no row. */
export function rightOf({ method, path }: { method: string; path: string }): Right | undefined {
  return RIGHT_OF_ROUTE.get(`${method} ${path}`);
}

export function hasRight(role: Role, right: Right): boolean {
  const { roles }: RightRow = RIGHTS[right];
  return role === 'admin' || roles.some((each) => each === role);
}

export function rightsOf(role: Role): Right[] {
  return ROWS.map(([right]) => right).filter((right) => hasRight(role, right));
}
