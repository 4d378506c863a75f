import { Server, ServerCredentials, type ServerInterceptor } from '@grpc/grpc-js';
import type { Certificate } from './test-ca.ts';

/** A gRPC server that can be killed and started again on the same port. */
export interface GrpcHost {
  port: number;
  authority: string;
  /** Cuts every connection, as a crash does. */
  kill(): void;
  start(): Promise<void>;
}

export interface GrpcHostOptions {
  certificate?: Certificate;
  /** A free one unless given. */
  port?: number;
  interceptors?: ServerInterceptor[];
  /** False: the caller starts it. */
  isStarted?: boolean;
}

export async function startGrpcHost(
  addServices: (server: Server) => void,
  { certificate, port = 0, interceptors = [], isStarted = true }: GrpcHostOptions = {},
): Promise<GrpcHost> {
  let server: Server | undefined;
  const host: GrpcHost = {
    port,
    authority: '',
    kill() {
      server?.forceShutdown();
      server = undefined;
    },
    async start() {
      server = new Server({ interceptors });
      addServices(server);
      host.port = await bind(server, host.port, certificate);
      host.authority = `127.0.0.1:${host.port}`;
    },
  };
  if (isStarted) await host.start();
  return host;
}

function bind(server: Server, port: number, certificate: Certificate | undefined): Promise<number> {
  const credentials = certificate
    ? ServerCredentials.createSsl(null, [
        { cert_chain: Buffer.from(certificate.cert), private_key: Buffer.from(certificate.key) },
      ])
    : ServerCredentials.createInsecure();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) =>
    error ? reject(error) : resolve(bound),
  );
  return promise;
}
