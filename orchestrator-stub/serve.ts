import { randomBytes } from 'node:crypto';
import type { Server as HttpServer } from 'node:http';
import { join } from 'node:path';
import { EventBus } from './events/bus.ts';
import { nodeRoutes } from './http/api/node-routes.ts';
import { eventRoute } from './http/events.ts';
import { createHttpServer } from './http/server.ts';
import { type Listener, listenPlain, listenTls } from './listener.ts';
import { Nodes } from './nodes/nodes.ts';
import { openAuthority } from './site/authority.ts';
import { openStateFolder } from './site/state-folder.ts';
import { Database } from './store/database.ts';
import { HostTable } from './store/host-table.ts';

export interface StubOptions {
  /** Folder for the database, the site's CA and the artefacts. */
  stateFolder: string;
  /** Address to listen on; every address by default. */
  host?: string;
  /** TLS port; 0 picks a free one, false switches TLS off. */
  port?: number | false;
  /** Port for plain HTTP and h2c, for isolated networks; off by default. */
  plainPort?: number | false;
  /** Further names and addresses for the server certificate, for example «*.edge.example.com». */
  names?: string[];
}

export interface Stub {
  urls: {
    /** https://…, or http://… when TLS is off: the API, Keycloak, files. */
    http: string;
    /** http://…, when a plain port is open. */
    plain?: string;
    /** host:port for gRPC; TLS if `http` is https. */
    grpc: string;
    /** host:port for gRPC without TLS, when a plain port is open. */
    plainGrpc?: string;
  };
  /** PEM of the site's CA. */
  ca: string;
  close: () => Promise<void>;
}

/** Starts the orchestrator in this process: 1 state  2 parts  3 servers  4 listeners. */
export async function startStub(options: StubOptions): Promise<Stub> {
  const host = options.host ?? '::';
  openStateFolder(options.stateFolder);
  const certificates = await openAuthority(options.stateFolder, options.names ?? []);
  const database = new Database(join(options.stateFolder, 'kindling.sqlite'));
  const hosts = new HostTable(database);
  const bus = new EventBus();
  const now = () => new Date();
  const nodes = new Nodes({ database, hosts, bus, projectId: randomBytes(16).toString('hex'), now });
  const http = createHttpServer({
    api: nodeRoutes({ nodes, hosts, workflowOf: () => null }),
    raw: [eventRoute(bus)],
    authorize: async () => {},
    onFailure: () => {},
  });
  const listeners = await openListeners(options, host, certificates, http);
  return {
    urls: listeners.urls,
    ca: certificates.ca,
    close: async () => {
      await Promise.all(listeners.all.map((listener) => listener.close()));
      database.close();
    },
  };
}

async function openListeners(
  options: StubOptions,
  host: string,
  certificates: { chain: string; key: string },
  http: HttpServer,
): Promise<{ urls: Stub['urls']; all: Listener[] }> {
  const protocols = { http, grpc: (socket: { destroy: () => void }) => socket.destroy() };
  const name = host === '::' || host === '0.0.0.0' ? 'localhost' : host;
  const port = options.port ?? 8443;
  const secure =
    port === false
      ? undefined
      : await listenTls(protocols, { key: certificates.key, cert: certificates.chain }, { host, port });
  const plainPort = options.plainPort ?? (secure ? false : 8080);
  const plain = plainPort === false ? undefined : await listenPlain(protocols, { host, port: plainPort });
  const urls = {
    http: secure ? `https://${name}:${secure.port}` : `http://${name}:${plain?.port}`,
    grpc: `${name}:${(secure ?? plain)?.port}`,
    ...(plain ? { plain: `http://${name}:${plain.port}`, plainGrpc: `${name}:${plain.port}` } : {}),
  };
  return { urls, all: [secure, plain].filter((listener) => listener !== undefined) };
}
