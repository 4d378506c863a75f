import type { IncomingMessage, Server } from 'node:http';
import { isSameMachine, plainAddress } from '../../net/address-group.ts';
import { createHttpServer } from '../../net/server/http-server.ts';
import type { ApiRoute, RawRoute } from '../../net/server/route.ts';
import { staticRoute } from '../../net/server/static-files.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Person } from '../../protocol/people.ts';
import type { AccessControl } from '../credentials/access.ts';
import type { EventBus } from '../events/bus.ts';
import type { MetricsParts } from '../metrics/metrics.ts';
import { OWNER } from '../people/people.ts';
import { hasRight, rightOf } from '../people/rights.ts';
import type { StateHealth } from '../store/state-health.ts';
import { apiRoutes } from './api/routes.ts';
import { type AuditParts, noteForbidden, performAudited } from './audited.ts';
import { consoleRoutes } from './console-pages.ts';
import { eventRoute } from './events.ts';
import { importErrorsRoute } from './import-errors.ts';
import { type KeycloakParts, keycloakRoutes } from './keycloak.ts';
import { localBootRoute } from './local-boot.ts';
import { logIntakeRoute } from './log-intake.ts';
import { metricsRoute } from './metrics-route.ts';
import { plainRoutes } from './plain-routes.ts';

export type SiteServerParts = AuditParts &
  KeycloakParts & {
    bus: EventBus;
    /** Undefined when the site asks for no tokens. */
    access: AccessControl | undefined;
    ca: () => string;
    artifacts: string[];
    files: string[];
    version: string;
    state: StateHealth;
    metrics: MetricsParts;
    /** Names and addresses of the server certificate. */
    names: () => readonly string[];
    origin: (authority: string, isSecure: boolean) => string;
    /** The site has no TLS: callers on this machine need no token, all others do. */
    isLocalTrusted: boolean;
    operatorAccess: AccessControl;
    onFailure: (thrown: unknown, request: IncomingMessage) => void;
    onRefusal: (address: string, reason: string) => void;
  };

export function createSiteHttpServer(parts: SiteServerParts): Server {
  return createHttpServer({
    ...siteRoutes(parts),
    authorize: (request, route) => authorize(parts, request, route),
    names: parts.names,
    origin: parts.origin,
    perform: (operation, work) => performAudited(parts, operation, work),
    onFailure: parts.onFailure,
    onAnswered: (answered) => parts.metrics.requests.add(answered),
  });
}

/** Every HTTP address of the stub, in one table. */
export function siteRoutes(parts: SiteServerParts): { api: ApiRoute[]; raw: RawRoute[] } {
  const { access, bus, hosts, logs, now } = parts;
  const api = apiRoutes(parts);
  const caller =
    access &&
    (async (authorization: string | undefined) => {
      if (!authorization) return undefined;
      await parts.store.refresh();
      return access.identify(authorization);
    });
  const raw = [
    ...plainRoutes(api, parts.ca, parts.version, parts.state, parts.onRefusal),
    ...keycloakRoutes(parts),
    eventRoute({
      bus,
      people: parts.people,
      authorize: (request, route) => authorize(parts, request, route),
    }),
    logIntakeRoute({ hosts, logs, bus, caller, now }),
    importErrorsRoute(parts.imports),
    metricsRoute(parts.metrics),
    ...fileRoutes(parts),
    ...consoleRoutes(),
  ];
  return { api, raw };
}

/**
 * What is served without TLS beside a server that has it: files for firmware and iPXE, which do not know the site's CA. No token, secret
 * or answer to a node ever goes over it in clear.
 */
export function createFileServer(parts: SiteServerParts): Server {
  return createHttpServer({
    api: [],
    raw: fileRoutes(parts),
    authorize: async () => undefined,
    onFailure: parts.onFailure,
    onAnswered: (answered) => parts.metrics.requests.add(answered),
  });
}

function fileRoutes({ artifacts, files, bus, hosts }: SiteServerParts): RawRoute[] {
  return [
    localBootRoute(hosts, bus),
    staticRoute('/tink-stack', artifacts, ({ client, file, bytes, isEncrypted }) =>
      bus.publish({
        type: 'netboot',
        nodeId: '',
        step: isEncrypted ? 'https' : 'http',
        client,
        what: file,
        bytes,
      }),
    ),
    staticRoute('/files-edge-orch', files),
  ];
}

/** 1 what other replicas have changed is known here  2 who calls  3 which right the route asks for  4 whether the role has it. */
async function authorize(
  parts: SiteServerParts,
  request: IncomingMessage,
  route: RawRoute | ApiRoute,
): Promise<Person | undefined> {
  if (route.access === 'anyone') return undefined;
  await parts.store.refresh();
  const person = await identifyPerson(parts, request);
  const right = rightOf(route);
  if (right && hasRight(person.role, right)) return person;
  const refusal = new KindlingError(
    'KND_API_FORBIDDEN',
    `${person.name} is ${person.role}, which does not include the right ${right ?? 'to call this'}`,
    {
      hint: 'docs/reference/roles.md says which role may do what; an admin changes a role with kindling user add.',
    },
  );
  await noteForbidden(parts, route, person, plainAddress(request.socket.remoteAddress), refusal);
  throw refusal;
}

async function identifyPerson(
  { access, isLocalTrusted, operatorAccess }: SiteServerParts,
  { headers, socket }: IncomingMessage,
): Promise<Person> {
  const isOpen = !access && (!isLocalTrusted || isSameMachine(socket.remoteAddress, socket.localAddress));
  try {
    const caller = await operatorAccess.identify(headers.authorization);
    if (caller.kind === 'person') return caller.person;
  } catch (thrown) {
    if (!isOpen) throw thrown;
  }
  // Nobody is asked here, but who says a name keeps it.
  if (isOpen) return { name: OWNER, role: 'admin', expires: null };
  throw new KindlingError('KND_API_FORBIDDEN', 'this needs the token of a person');
}
