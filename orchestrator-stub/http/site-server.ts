import type { IncomingMessage, Server } from 'node:http';
import { createHttpServer } from '../../net/server/http-server.ts';
import type { Access, ApiRoute, RawRoute } from '../../net/server/route.ts';
import { staticRoute } from '../../net/server/static-files.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { AccessControl } from '../credentials/access.ts';
import type { EventBus } from '../events/bus.ts';
import type { StateHealth } from '../store/state-health.ts';
import { type ApiParts, apiRoutes } from './api/routes.ts';
import { eventRoute } from './events.ts';
import { type KeycloakParts, keycloakRoutes } from './keycloak.ts';
import { logIntakeRoute } from './log-intake.ts';
import { plainRoutes } from './plain-routes.ts';

export type SiteServerParts = ApiParts &
  KeycloakParts & {
    bus: EventBus;
    /** Undefined when the site asks for no tokens. */
    access: AccessControl | undefined;
    ca: () => string;
    artifacts: string[];
    files: string[];
    version: string;
    state: StateHealth;
    onFailure: (thrown: unknown, request: IncomingMessage) => void;
  };

export function createSiteHttpServer(parts: SiteServerParts): Server {
  return createHttpServer({
    ...siteRoutes(parts),
    authorize: (request, level) => authorize(parts.access, request, level),
    onFailure: parts.onFailure,
  });
}

/** Every HTTP address of the stub, in one table. */
export function siteRoutes(parts: SiteServerParts): { api: ApiRoute[]; raw: RawRoute[] } {
  const { access, bus, hosts, logs, now } = parts;
  const api = apiRoutes(parts);
  const caller =
    access &&
    ((authorization: string | undefined) =>
      authorization ? access.identify(authorization) : Promise.resolve(undefined));
  const raw = [
    ...plainRoutes(api, parts.ca, parts.version, parts.state),
    ...keycloakRoutes(parts),
    eventRoute(bus),
    logIntakeRoute({ hosts, logs, bus, caller, now }),
    staticRoute('/tink-stack', parts.artifacts, ({ client, file, bytes, isEncrypted }) =>
      bus.publish({
        type: 'netboot',
        nodeId: '',
        step: isEncrypted ? 'https' : 'http',
        client,
        what: file,
        bytes,
      }),
    ),
    staticRoute('/files-edge-orch', parts.files),
  ];
  return { api, raw };
}

async function authorize(
  access: AccessControl | undefined,
  request: IncomingMessage,
  level: Access,
): Promise<void> {
  if (!access || level === 'anyone') return;
  const caller = await access.identify(request.headers.authorization);
  if (caller.kind !== 'operator') {
    throw new KindlingError('KND_API_FORBIDDEN', 'this needs the operator’s token');
  }
}
