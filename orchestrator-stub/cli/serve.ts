import type { Command } from 'commander';
import { KindlingError } from '../../protocol/error.ts';
import { defaultStateFolder } from '../site/state-folder.ts';

interface ServeOptions {
  state: string;
  host: string;
  port: string;
  plain?: boolean;
  plainPort?: string;
  name: string[];
}

/** `kindling serve`: the orchestrator in the foreground until Ctrl-C. */
export function defineServe(command: Command): void {
  command
    .option(
      '--state <folder>',
      'folder for the database, the site CA and the artefacts',
      defaultStateFolder(),
    )
    .option('--host <address>', 'address to listen on', '::')
    .option('--port <number>', 'TLS port for gRPC, the API and files', '8443')
    .option('--plain', 'no TLS: plain HTTP and h2c only, for isolated networks')
    .option('--plain-port <number>', 'also (with --plain: only) listen here without TLS')
    .option('--name <name>', 'further name for the server certificate; may be repeated', collect, [])
    .action(serve);
}

async function serve(options: ServeOptions): Promise<void> {
  const { startStub } = await import('../serve.ts');
  const startedAt = performance.now();
  const plainPort = options.plainPort ?? (options.plain ? '8080' : undefined);
  const stub = await startStub({
    stateFolder: options.state,
    host: options.host,
    port: options.plain ? false : parsePort(options.port),
    plainPort: plainPort === undefined ? false : parsePort(plainPort),
    names: options.name,
  });
  console.log(`kindling serves ${stub.urls.http} after ${Math.round(performance.now() - startedAt)} ms`);
  if (stub.urls.plain && stub.urls.plain !== stub.urls.http)
    console.log(`        without TLS ${stub.urls.plain}`);
  console.log(`        state and site CA in ${options.state}`);
  await untilSignal();
  await stub.close();
}

function untilSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  return promise;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new KindlingError('KND_USAGE', `${text} is not a port`);
  }
  return port;
}

function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}
