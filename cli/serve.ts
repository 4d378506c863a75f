import { join } from 'node:path';
import type { Command } from 'commander';
import { pino } from 'pino';
import type { DhcpMode } from '../netboot/dhcp/decide-reply.ts';
import type { Stub } from '../orchestrator-stub/serve.ts';
import { KindlingError, toKindlingError } from '../protocol/error.ts';
import type { TinkDialect } from '../protocol/tink-dialect.ts';
import { writePrivate } from '../site/state-folder.ts';
import { untilEndSignal } from '../system/end-signal.ts';
import { keepRunning } from '../system/keep-running.ts';
import { notifyReady } from '../system/service-manager.ts';
import { addConfigOption } from './config-file.ts';
import { addDatabaseOptions, type DatabaseOptions, toAddress } from './database-options.ts';

interface ServeOptions extends DatabaseOptions {
  host: string;
  port: number;
  plain?: boolean;
  plainPort?: number;
  name: string[];
  auth?: 'required' | 'none';
  artifacts: string[];
  files: string[];
  dialect: TinkDialect[];
  strict?: boolean;
  pxe?: string;
  pxeMode: DhcpMode;
  reservations?: string;
  kernelArg: string[];
  microOs?: string;
  microOsUrl?: string;
  httpsBoot: boolean;
  neighbors?: boolean;
  syslog?: number;
  log: string;
}

/** `kindling serve`: the orchestrator in the foreground until Ctrl-C. */
export function defineServe(command: Command): void {
  addConfigOption(addDatabaseOptions(command))
    .option('--host <address>', 'address to listen on', '::')
    .option('--port <number>', 'TLS port for gRPC, the API and files', parsePort, 8443)
    .option('--plain', 'no TLS: plain HTTP and h2c only, for isolated networks')
    .option('--plain-port <number>', 'also (with --plain: only) listen here without TLS', parsePort)
    .option('--name <name>', 'further name for the server certificate; may be repeated', collect, [])
    .option(
      '--auth <mode>',
      'required: calls need a token (the default with TLS); none: they do not',
      checkAuth,
    )
    .option('--artifacts <folder>', 'serve its files below /tink-stack/; may be repeated', collect, [])
    .option('--files <folder>', 'serve its files below /files-edge-orch/; may be repeated', collect, [])
    .option('--dialect <name>', 'speak tink-legacy or tink-current only (default: both)', collectDialect, [])
    .option('--strict', 'answer exactly as EMF and tink-server do, also where that strands a node')
    .option('--pxe <device>', 'boot machines over this network device: DHCP, TFTP, iPXE, Micro-OS')
    .option(
      '--pxe-mode <mode>',
      'who gives addresses: auto-proxy, proxy, reservation',
      checkPxeMode,
      'auto-proxy',
    )
    .option('--reservations <file>', 'YAML list of known machines, for --pxe-mode reservation and proxy')
    .option('--micro-os <folder>', 'folder of a built Micro-OS (default: it is built)')
    .option(
      '--micro-os-url <url>',
      'let machines fetch kernel and initramfs from this folder of another server',
    )
    .option('--https-boot', 'boot over HTTPS: the firmware of the machines knows the site’s CA', false)
    .option(
      '--kernel-arg <argument>',
      'further kernel argument of the Micro-OS; may be repeated',
      collect,
      [],
    )
    .option('--neighbors', 'let nodes that get the same chunked image serve its chunks to each other')
    .option('--syslog <port>', 'take syslog over UDP (usually 514) into the logs of the nodes', parsePort)
    .option('--log <level>', 'log level of the server', checkLogLevel, 'info')
    .action(serve);
}

async function serve(options: ServeOptions): Promise<void> {
  const { startStub } = await import('../orchestrator-stub/serve.ts');
  const startedAt = performance.now();
  // Firmware and iPXE do not know the site's CA; beside TLS this port serves boot files and nothing else.
  const needsPlainPort = options.plain || (options.pxe !== undefined && !options.httpsBoot);
  const plainPort = options.plainPort ?? (needsPlainPort ? 8080 : undefined);
  if (options.pxe !== undefined) {
    const { checkNetboot } = await import('./serve-netboot.ts');
    await checkNetboot({ device: options.pxe });
  }
  const log = pino({ level: options.log }, pino.destination(2));
  using _running = keepRunning((thrown) => {
    const error = toKindlingError(thrown);
    log.error({ code: error.code, err: error }, error.message);
  });
  const stub = await startStub({
    stateFolder: options.state,
    database: toAddress(options),
    stateKey: options.stateKey,
    host: options.host,
    port: options.plain ? false : options.port,
    plainPort: plainPort ?? false,
    names: options.name,
    ...(options.auth ? { auth: options.auth } : {}),
    artifacts: options.artifacts,
    files: options.files,
    ...(options.dialect.length > 0 ? { dialects: options.dialect } : {}),
    isStrict: options.strict ?? false,
    hasNeighbors: options.neighbors ?? false,
    syslogPort: options.syslog,
    log,
  });
  writePrivate(join(options.state, 'server-url'), `${stub.urls.http}\n`);
  console.log(`kindling serves ${stub.urls.http} after ${Math.round(performance.now() - startedAt)} ms`);
  if (stub.urls.plain && stub.urls.plain !== stub.urls.http)
    console.log(`        without TLS ${stub.urls.plain}`);
  // The link signs in the person at this terminal; a log that collects this output must not.
  const fragment = process.stdout.isTTY ? `#token=${stub.token}` : '';
  console.log(`        its page ${stub.urls.http}/${fragment}`);
  console.log(`        state, site CA and operator’s token in ${options.state}`);
  const ended = untilEndSignal();
  notifyReady();
  const netboot = options.pxe === undefined ? undefined : startNetboot(stub, options, options.pxe);
  let isNetbootStarting = netboot !== undefined;
  try {
    await Promise.race([ended, netboot?.then(() => (isNetbootStarting = false)) ?? ended]);
    await ended;
    if (!isNetbootStarting) await (await netboot)?.[Symbol.asyncDispose]();
  } finally {
    await stub.close();
  }
  // It waits for a device, or builds a Micro-OS, and has no end of its own.
  if (isNetbootStarting) process.exit();
}

async function startNetboot(stub: Stub, options: ServeOptions, device: string): Promise<AsyncDisposable> {
  const { serveNetboot } = await import('./serve-netboot.ts');
  const netboot = await serveNetboot(stub, {
    device,
    mode: options.pxeMode,
    reservations: options.reservations,
    stateFolder: options.state,
    stackFolder: join(options.state, 'tink-stack'),
    kernelArgs: options.kernelArg,
    microOs: options.microOs,
    microOsUrl: options.microOsUrl,
    httpsBoot: options.httpsBoot,
  });
  console.log(`        machines boot from ${device} (${options.pxeMode})`);
  return netboot;
}

function checkPxeMode(value: string): string {
  if (value !== 'auto-proxy' && value !== 'proxy' && value !== 'reservation') {
    throw new KindlingError('KND_USAGE', `--pxe-mode is auto-proxy, proxy or reservation, not ${value}`);
  }
  return value;
}

function checkLogLevel(value: string): string {
  const levels = [...Object.keys(pino.levels.values), 'silent'];
  if (!levels.includes(value))
    throw new KindlingError('KND_USAGE', `--log is one of ${levels.join(', ')}, not ${value}`);
  return value;
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

function checkAuth(value: string): string {
  if (value !== 'required' && value !== 'none') {
    throw new KindlingError('KND_USAGE', `--auth is required or none, not ${value}`);
  }
  return value;
}

function collectDialect(value: string, previous: TinkDialect[]): TinkDialect[] {
  if (value !== 'tink-legacy' && value !== 'tink-current') {
    throw new KindlingError('KND_USAGE', `--dialect is tink-legacy or tink-current, not ${value}`);
  }
  return [...previous, value];
}
