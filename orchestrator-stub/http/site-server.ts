import type { IncomingMessage, Server } from 'node:http';
import { isSameMachine } from '../../net/address-group.ts';
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
    /** Names and addresses of the server certificate. */
    names: () => readonly string[];
    origin: (authority: string, isSecure: boolean) => string;
    /** The site has no TLS: whoever is on this very machine needs no token, everybody else does. */
    isLocalTrusted: boolean;
    operatorAccess: AccessControl;
    onFailure: (thrown: unknown, request: IncomingMessage) => void;
    onRefusal: (address: string, reason: string) => void;
  };

export function createSiteHttpServer(parts: SiteServerParts): Server {
  return createHttpServer({
    ...siteRoutes(parts),
    authorize: (request, level) => authorize(parts, request, level),
    names: parts.names,
    origin: parts.origin,
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
    ...plainRoutes(api, parts.ca, parts.version, parts.state, parts.onRefusal),
    ...keycloakRoutes(parts),
    eventRoute(bus),
    logIntakeRoute({ hosts, logs, bus, caller, now }),
    ...fileRoutes(parts),
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
    authorize: async () => {},
    onFailure: parts.onFailure,
  });
}

function fileRoutes({ artifacts, files, bus }: SiteServerParts): RawRoute[] {
  return [
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

async function authorize(
  { access, isLocalTrusted, operatorAccess }: SiteServerParts,
  request: IncomingMessage,
  level: Access,
): Promise<void> {
  if (level === 'anyone') return;
  const { remoteAddress, localAddress } = request.socket;
  if (!access && (!isLocalTrusted || isSameMachine(remoteAddress, localAddress))) return;
  const caller = await operatorAccess.identify(request.headers.authorization);
  if (caller.kind !== 'operator') {
    throw new KindlingError('KND_API_FORBIDDEN', 'this needs the operator’s token');
  }
}
