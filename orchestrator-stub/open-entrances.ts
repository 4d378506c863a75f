import type { DescService } from '@bufbuild/protobuf';
import { markdownTable } from '../formats/markdown-table.ts';
import type { DatagramEntrance } from '../net/datagram-entrance.ts';
import { Health } from '../protocol/generated/grpc-health_pb.js';
import { ServerReflection } from '../protocol/generated/grpc-reflection_pb.js';
import {
  InteractiveOnboardingService,
  NonInteractiveOnboardingService,
} from '../protocol/generated/onboarding_pb.js';
import { WorkflowService as CurrentService } from '../protocol/generated/tink-current_pb.js';
import { WorkflowService as LegacyService } from '../protocol/generated/tink-legacy_pb.js';
import { type SiteServerParts, siteRoutes } from './http/site-server.ts';

/** What somebody without a token may bring about at one entrance, and how much of it. */
interface Entrance {
  changes: string;
  limits: string;
}

const NOTHING = 'nothing';
const CONNECTIONS =
  'connections: 4,096 per address, 16,384 in all; 20 s for the first word; of 1,025 that ask for nothing the oldest goes';
const CONSOLE = 'files of the console, the same for everybody, held in memory';
const KEY = 'a key of 128 bits in the address, one per purpose and generation';

const HTTP: Record<string, Entrance> = {
  'POST /api/v1/discovery': {
    changes:
      'makes or updates the record of a stranger. Of a registered node: a claim beside the record, which becomes its inventory only when the node is let in from the same address',
    limits:
      '256 kB, of a stranger 64 kB are kept; 1,000 new strangers per /24, then one a second; `maxUnknownMachines` in all, the longest silent goes first; schema for paths, names and MACs',
  },
  'POST /api/v1/first-boot/{key}': {
    changes: 'notes the first boot of one generation, once, and what it says of its agents',
    limits: `${KEY}; 64 kB`,
  },
  'POST /api/v1/first-boot/{key}/boot-order': { changes: 'notes the boot order, once', limits: KEY },
  'POST /api/v1/recovery-keys/{key}': {
    changes: 'adds a recovery key, replaces none, while a trusted node’s workflow encrypts',
    limits: `${KEY}; 200 characters per key`,
  },
  'POST /api/v1/neighbours/{key}': {
    changes: 'names the node to others that write the same image; they verify every chunk',
    limits: `${KEY}; the caller’s own or a private address; until the first boot`,
  },
  'DELETE /api/v1/neighbours/{key}': { changes: 'takes that back', limits: KEY },
  'POST /api/v1/device-codes': {
    changes: 'a code waits ten minutes for a person who types it',
    limits: '10 codes per address, 1,000 in all, in memory; the oldest goes',
  },
  'POST /api/v1/device-codes/token': {
    changes: 'hands out, once, the token that a person gave to this code',
    limits: 'a code of 256 bits',
  },
  'GET /healthz': { changes: NOTHING, limits: CONNECTIONS },
  'GET /certificate-refused': {
    changes: 'names the caller’s address and a reason below “kindling node list” for two minutes',
    limits: '200 addresses in memory; a reason is 64 capitals, digits and underscores',
  },
  'GET /': { changes: NOTHING, limits: CONSOLE },
  'GET /nodes/{id}': { changes: NOTHING, limits: CONSOLE },
  'GET /import': { changes: NOTHING, limits: CONSOLE },
  'GET /import/{id}': { changes: NOTHING, limits: CONSOLE },
  'GET /profiles': { changes: NOTHING, limits: CONSOLE },
  'GET /profiles/{name}': { changes: NOTHING, limits: CONSOLE },
  'GET /templates': { changes: NOTHING, limits: CONSOLE },
  'GET /templates/{name}': { changes: NOTHING, limits: CONSOLE },
  'GET /site': { changes: NOTHING, limits: CONSOLE },
  'GET /files': { changes: NOTHING, limits: CONSOLE },
  'GET /people': { changes: NOTHING, limits: CONSOLE },
  'GET /audit': { changes: NOTHING, limits: CONSOLE },
  'GET /console/{file}': { changes: NOTHING, limits: CONSOLE },
  'GET /site-ca.crt': { changes: NOTHING, limits: CONNECTIONS },
  'GET /api/v1/openapi.json': { changes: NOTHING, limits: CONNECTIONS },
  'POST /realms/master/protocol/openid-connect/token': {
    changes: 'gives a token for a secret or a password',
    limits:
      '64 kB; passwords: 10 tries per address, then one in 10 s; 2 hashes at once off the event loop; refresh tokens work once',
  },
  'GET /realms/master/protocol/openid-connect/certs': { changes: NOTHING, limits: CONNECTIONS },
  'GET /realms/master/.well-known/openid-configuration': {
    changes: NOTHING,
    limits: 'names only the site’s own addresses, whatever `Host` says',
  },
  'GET /token': { changes: NOTHING, limits: CONNECTIONS },
  'POST /v1/logs': {
    changes: 'adds lines to the log of a stranger; of a registered node only with its token',
    limits:
      '1 MiB unpacked, of a node with its token 4 MiB, 1,000 records; 16 kB/s per address, 1 MiB/s in all after 8 MiB; no more is unpacked than that leaves; 1 MB kept per stranger, pruned by arrival',
  },
  'GET /tink-stack/local-boot/{mac}': {
    changes: 'an event says that a node starts from its disk',
    limits: `tells whether a MAC is that of a node that runs its system; ${CONNECTIONS}. Also on the plain port beside TLS`,
  },
  'GET /tink-stack/{*}': {
    changes: 'an event says which file was fetched',
    limits: 'files below the folder; slow readers are cut off. Also on the plain port beside TLS',
  },
  'GET /files-edge-orch/{*}': {
    changes: NOTHING,
    limits: 'as above. Also on the plain port beside TLS',
  },
};

const GRPC: Record<string, Entrance> = {
  'onboardingmgr.v1.NonInteractiveOnboardingService/OnboardNodeStream': {
    changes:
      'lets in a registered node by UUID and serial: address, MAC and time of the knock, its credentials until it is provisioned. A wrong serial is shown and changes no node that was let in before',
    limits:
      'strict patterns for all four facts; a MAC that an operator registered for another node is refused; `:authority` becomes an address only if it is in the certificate',
  },
  'grpc.health.v1.Health/Check': { changes: NOTHING, limits: CONNECTIONS },
  'grpc.health.v1.Health/Watch': { changes: NOTHING, limits: '1,000 streams per connection' },
  'grpc.reflection.v1.ServerReflection/ServerReflectionInfo': {
    changes: NOTHING,
    limits: 'the public descriptions only; v1alpha too',
  },
};

/** Every gRPC method that needs no token when tokens are asked for. test/security calls all methods to see whether that is so. */
export const OPEN_METHODS: readonly string[] = Object.keys(GRPC);

/** Every method that the server has, as "package.Service/Method". */
export function allMethods(): string[] {
  const services: DescService[] = [
    NonInteractiveOnboardingService,
    InteractiveOnboardingService,
    LegacyService,
    CurrentService,
    Health,
    ServerReflection,
  ];
  const names = services.flatMap(({ typeName, methods }) => methods.map(({ name }) => `${typeName}/${name}`));
  return [...new Set(names)];
}

/** HTTP addresses that anyone may call, as the routers have them. They are only looked at, so they need none of their parts. */
export function openRoutes(): string[] {
  const { api, raw } = siteRoutes({} as SiteServerParts);
  return [...api, ...raw]
    .filter(({ access }) => access === 'anyone')
    .map(({ method, path }) => `${method} ${path}`);
}

/** A server of datagrams, and the words of the command line that start it. */
export interface StartedDatagramServer {
  server: DatagramEntrance;
  startedBy: string;
}

/** The table of docs/explanation/what-we-believe.md. Throws when a router has an entrance that is not described here. */
export function entranceTable(datagrams: readonly StartedDatagramServer[]): string {
  const rows = [
    ...rowsOf('HTTP', HTTP, openRoutes()),
    ...rowsOf(
      'gRPC',
      GRPC,
      allMethods().filter((method) => method in GRPC),
    ),
    ...datagrams.map(datagramRow),
  ];
  return markdownTable(['', 'entrance', 'what it may change', 'limits'], rows);
}

function rowsOf(kind: string, described: Record<string, Entrance>, found: readonly string[]): string[][] {
  const unknown = found.filter((name) => !(name in described));
  const gone = Object.keys(described).filter((name) => !found.includes(name));
  if (unknown.length > 0 || gone.length > 0) {
    throw new Error(
      `orchestrator-stub/open-entrances.ts does not describe ${unknown.join(', ') || 'nothing new'}; gone: ${gone.join(', ') || 'none'}`,
    );
  }
  return found.map((name) => {
    const { changes, limits } = described[name] ?? { changes: '', limits: '' };
    return [kind, `\`${name}\``, changes, limits];
  });
}

function datagramRow({ server, startedBy }: StartedDatagramServer): string[] {
  const { protocol, ports, changes, limits } = server;
  return [
    'UDP',
    `${protocol} (${['UDP', ports?.join(' and ')].filter(Boolean).join(' ')}, ${startedBy})`,
    changes,
    limits,
  ];
}
