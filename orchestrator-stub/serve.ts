import { readdirSync, unwatchFile, watchFile } from 'node:fs';
import type { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type Logger, pino } from 'pino';
import {
  type Listener,
  listenPlain,
  listenTls,
  type Protocols,
  type TlsListener,
} from '../net/server/listener.ts';
import { type KindlingError, toKindlingError } from '../protocol/error.ts';
import type { TinkDialect } from '../protocol/tink-dialect.ts';
import { openAuthority, type SiteCertificates, serverCertificateFile } from '../site/authority.ts';
import { openOperatorPassword, openOperatorToken, openProjectId } from '../site/operator-token.ts';
import { lockStateFolder, openStateFolder, openSubfolder } from '../site/state-folder.ts';
import { programVersion } from '../system/program-version.ts';
import { AuditLog } from './audit/audit-log.ts';
import { AccessControl } from './credentials/access.ts';
import { Credentials } from './credentials/credentials.ts';
import { SignIns } from './credentials/sign-ins.ts';
import { openTokenSigner } from './credentials/token-signer.ts';
import { EventBus, type NetbootEvent } from './events/bus.ts';
import { Floor } from './floor/floor.ts';
import { FloorTable } from './floor/floor-table.ts';
import { StageTimes } from './floor/stage-times.ts';
import { createGrpcServer } from './grpc/server.ts';
import { createFileServer, createSiteHttpServer, type SiteServerParts } from './http/site-server.ts';
import { ImportTable } from './imports/import-table.ts';
import { ImportWorker } from './imports/import-worker.ts';
import { Imports } from './imports/imports.ts';
import { RequestFigures } from './metrics/request-figures.ts';
import { AskingAgents } from './nodes/asking-agents.ts';
import { CertificateRefusals } from './nodes/certificate-refusals.ts';
import { HostTable } from './nodes/host-table.ts';
import { Neighbors } from './nodes/neighbors.ts';
import { Nodes } from './nodes/nodes.ts';
import { Onboarding } from './nodes/onboarding.ts';
import { completeProfile, type Profile } from './nodes/profile.ts';
import { ProofGate } from './nodes/proof-gate.ts';
import { DeviceCodes } from './people/device-codes.ts';
import { People } from './people/people.ts';
import { VendorCertificates } from './proof/vendor-certificates.ts';
import { Enrollment } from './provisioning/enrollment.ts';
import { PostMortem } from './provisioning/post-mortem.ts';
import { Provisioning } from './provisioning/provisioning.ts';
import { Revocation } from './provisioning/revocation.ts';
import { StatusProjection } from './provisioning/status-projection.ts';
import { Records } from './record/records.ts';
import { SigningKeys } from './record/signing-keys.ts';
import { SiteSeal } from './secrets/site-seal.ts';
import { Settings } from './settings/site-settings.ts';
import { outsideOrigin, siteOrigin } from './site-origin.ts';
import { DocumentTable } from './store/document-table.ts';
import { LogTable } from './store/log-table.ts';
import { openStore, type StoreLocation } from './store/open-store.ts';
import { RecoveryKeyTable } from './store/recovery-key-table.ts';
import { startSyslogServer } from './syslog/syslog-server.ts';
import type { Template } from './workflow/built-in.ts';
import { Templates } from './workflow/templates.ts';
import { WorkflowTable } from './workflow/workflow-table.ts';
import { Workflows } from './workflow/workflows.ts';

export interface StubOptions extends StoreLocation {
  /** Address to listen on; every address by default. */
  host?: string;
  /** TLS port; 0 picks a free one, false switches TLS off. */
  port?: number | false;
  /** Port for plain HTTP and h2c, for isolated networks; off by default. Beside TLS it serves boot files and nothing else. */
  plainPort?: number | false;
  /** Further names and addresses for the server certificate, for example "*.edge.example.com". */
  names?: string[];
  /** Whether calls need a token; by default with TLS they do, without (where anyone could read it) they do not. */
  auth?: 'required' | 'none';
  /** Nodes that get the same image help each other, whatever the site's settings say. */
  hasNeighbors?: boolean;
  /** UDP port for syslog; 0 picks a free one, absent: none is taken. */
  syslogPort?: number | undefined;
  /** Folders whose files are served below /tink-stack/, besides "tink-stack" in the state folder. */
  artifacts?: string[];
  /** Folders whose files are served below /files-edge-orch/, besides "files-edge-orch" in the state folder. */
  files?: string[];
  /** File with the key that seals secrets in the database; by default systemd's credential, else one in the state folder. */
  stateKey?: string | undefined;
  /** Which Tinkerbell dialects are spoken; both by default. */
  dialects?: TinkDialect[];
  /** Answer exactly as EMF and tink-server do, also where that leaves a node stranded. */
  isStrict?: boolean;
  /** How long GetAction is held while there is nothing to do. */
  holdMs?: number;
  /** How much later than the agent the stub ends an action that overran its time. */
  timeoutGraceMs?: number;
  /** Life of an access token. */
  tokenLifetimeSeconds?: number;
  releaseToken?: 'anonymous' | 'signed';
  /** A person who may sign in at a node's console; by default "operator" with the password in the state folder. */
  user?: { name: string; password: string };
  now?: () => Date;
  log?: Logger;
}

export interface Stub {
  urls: {
    /** https://…, or http://… when TLS is off: the API, Keycloak, files. */
    http: string;
    /** http://…, when a plain port is open; beside TLS it serves files only. */
    plain?: string;
    /** host:port for gRPC; TLS if `http` is https. */
    grpc: string;
  };
  /** Where syslog is taken, if it is. */
  syslogPort: number | undefined;
  /** PEM of the CAs that nodes are to trust. */
  readonly ca: string;
  /** For "Authorization: Bearer …" on the API. */
  token: string;
  projectId: string;
  /** Tells watchers what a machine was given before its agent runs. */
  announce: (event: NetbootEvent) => void;
  close: () => Promise<void>;
}

const CERTIFICATE_LOOK_MS = 1000;

/** Starts the orchestrator in this process: 1 state  2 parts  3 servers  4 listeners. */
export async function startStub(options: StubOptions): Promise<Stub> {
  const log = options.log ?? pino({ level: 'silent' });
  const now = options.now ?? (() => new Date());
  const { stateFolder } = options;
  const isStrict = options.isStrict ?? false;

  // 1 state
  const folders = [...(options.artifacts ?? []), ...(options.files ?? [])];
  for (const folder of folders) readdirSync(folder); // a misspelled one would answer 404 to every node
  openStateFolder(stateFolder);
  const lock = lockStateFolder(stateFolder);
  let certificates = await openAuthority(stateFolder, options.names ?? []);
  const signer = await openTokenSigner(stateFolder, now);
  const operatorToken = openOperatorToken(stateFolder);
  const projectId = openProjectId(stateFolder);
  const onFailure = (thrown: unknown) => {
    const error = toKindlingError(thrown);
    if (error.code === 'KND_UNEXPECTED') log.error({ err: error }, error.message);
    else log.info({ code: error.code }, error.message);
  };
  const store = await openStore(options, { onDefect: onFailure });
  const siteSeal = await SiteSeal.open(store, { stateFolder, file: options.stateKey }).catch(
    async (thrown: unknown) => {
      await store.close();
      lock[Symbol.dispose]();
      throw thrown;
    },
  );
  const { seal } = siteSeal;
  const hosts = new HostTable(store, seal);
  const logs = await LogTable.open(store);
  const recoveryKeys = new RecoveryKeyTable(store, seal);
  const profiles = new DocumentTable<Profile>(store, 'profiles', seal, completeProfile);
  const settings = await Settings.open(store, seal);
  const templates = new Templates(new DocumentTable<Template>(store, 'templates', seal));

  // 2 parts
  const bus = new EventBus(store);
  await bus.recall();
  const credentials = await Credentials.open(store, seal);
  const user = options.user ?? { name: 'operator', password: openOperatorPassword(stateFolder) };
  const signIns = new SignIns(store, now);
  const people = new People(store, now);
  const devices = new DeviceCodes(now);
  const audit = new AuditLog(store);
  if (await credentials.setUser(user.name, user.password, projectId)) await signIns.endAll();
  const maxUnknown = () => settings.get().maxUnknownMachines;
  const nodes = new Nodes({ store, hosts, bus, projectId, isStrict, now, maxUnknown });
  let ownUrl = '';
  let ownPorts: number[] = [];
  const hasNeighbors = () => (options.hasNeighbors ?? false) || settings.get().neighbours;
  const neighbors = new Neighbors({
    now,
    onDropped: (hostId) => {
      hosts.byId(hostId).then((host) => {
        log.warn({ hostId }, `${host?.name ?? hostId} serves chunks that are not the image’s`);
      }, onFailure);
    },
  });
  const workflowTable = new WorkflowTable(store, seal);
  const workflows = await Workflows.open({
    store,
    table: workflowTable,
    bus,
    now,
    timeoutGraceMs: options.timeoutGraceMs ?? 60_000,
    onFailure,
  });
  const projection = new StatusProjection({ store, hosts, nodes, profiles, now });
  const postMortem = new PostMortem({
    store,
    hosts,
    nodes,
    workflows,
    settings: () => settings.get(),
    now,
  });
  workflows.subscribe((workflow) => postMortem.follow(workflow));
  workflows.subscribe((workflow) => projection.follow(workflow));
  // Last of those who follow: its rows show what the others have made of the change.
  const floorTable = new FloorTable(store);
  const floor = await Floor.open({
    store,
    table: floorTable,
    times: new StageTimes(store, seal),
    hosts,
    nodes,
    workflows,
    bus,
    settings: () => settings.get(),
    now,
    onFailure,
  });
  const provisioning = new Provisioning({
    store,
    hosts,
    nodes,
    profiles,
    template: (name) => templates.get(name),
    credentials,
    workflows,
    postMortem,
    settings: () => settings.get(),
    hasNeighbors,
    isStrict,
    ca: () => certificates.ca,
    now,
    onFailure,
  });
  const importTable = new ImportTable(store);
  const importWorker = new ImportWorker({
    store,
    table: importTable,
    hosts,
    profiles,
    nodes,
    audit,
    bus,
    settings: () => settings.get(),
    isStrict,
    advance: (hostId) => provisioning.advance(hostId),
    now,
    onFailure,
  });
  const imports = new Imports({
    store,
    table: importTable,
    hosts,
    profiles,
    nodes,
    bus,
    settings: () => settings.get(),
    isStrict,
    now,
    onStarted: (id) => importWorker.begin(id),
  });
  const revocation = new Revocation({ store, nodes, credentials, neighbors, workflows, now });
  const askingAgents = new AskingAgents({
    store,
    hosts,
    nodes,
    workers: workflows.index,
    projectId,
    maxUnknown: () => settings.get().maxUnknownMachines,
    now,
  });
  const enrollment = new Enrollment({
    store,
    hosts,
    nodes,
    workflows,
    template: (name) => templates.get(name),
    settings: () => settings.get(),
    projectId,
    now,
  });
  const onAlarm = ({ code, message, hint }: KindlingError) => log.warn({ code, hint }, message);
  const gate = new ProofGate({
    messenger: store,
    hosts,
    profiles,
    settings: () => settings.get(),
    vendors: VendorCertificates.read(openSubfolder(stateFolder, 'ek-ca'), now),
    now,
    onAlarm,
  });
  const onboarding = new Onboarding({
    store,
    hosts,
    nodes,
    credentials,
    signIns,
    gate,
    advance: (hostId) => provisioning.advance(hostId),
    settings: () => settings.get(),
    projectId,
    isStrict,
    now,
    onFailure,
    onAlarm,
  });

  store.health.onChange((failure) => {
    if (failure) return log.error({ code: failure.code, err: failure, hint: failure.hint }, failure.message);
    log.info('changes are taken again');
    setImmediate(() => void provisioning.catchUp());
  });

  // 3 servers
  const isPlainOnly = options.port === false;
  const needsToken = (options.auth ?? (isPlainOnly ? 'none' : 'required')) === 'required';
  const operatorAccess = new AccessControl({ signer, credentials, signIns, people, operatorToken, now });
  const access = needsToken ? operatorAccess : undefined;
  const originParts = {
    names: () => certificates.names,
    ports: () => ownPorts,
    own: () => ownUrl,
  };
  const grpc = createGrpcServer({
    refresh: () => store.refresh(),
    workflows,
    enrollment,
    askingAgents,
    onboarding,
    gate,
    access,
    projectId,
    isStrict,
    dialects: options.dialects ?? ['tink-legacy', 'tink-current'],
    holdMs: options.holdMs ?? 60_000,
    origin: (authority) => siteOrigin(originParts, authority, isPlainOnly ? 'http' : 'https'),
    onDefect: onFailure,
    state: store.health,
  });
  const refusals = new CertificateRefusals(now);
  const signingKeys = new SigningKeys(stateFolder);
  const version = await programVersion();
  const httpParts: SiteServerParts = {
    store,
    refusals,
    onRefusal: (address, reason) => {
      if (refusals.note(address, reason))
        log.warn({ address, reason }, 'a machine reached this server and refuses its certificate');
    },
    floor,
    nodes,
    gate,
    hosts,
    logs,
    recoveryKeys,
    siteSeal,
    neighbors,
    hasNeighbors,
    provisioning,
    revocation,
    workflows,
    templates,
    settings,
    profiles,
    imports,
    people,
    devices,
    audit,
    records: new Records({
      hosts,
      nodes,
      profiles,
      rows: floorTable,
      workflows: workflowTable,
      logs,
      audit,
      site: projectId,
      keys: () => signingKeys.private(),
      now,
    }),
    signingKeys,
    projectId,
    pageOrigin: (origin) => settings.get().publicUrl ?? outsideOrigin(origin, ownUrl),
    bus,
    signer,
    access,
    operatorAccess,
    grants: {
      signer,
      credentials,
      signIns,
      projectId,
      lifetimeSeconds: options.tokenLifetimeSeconds ?? 3600,
    },
    releaseToken: options.releaseToken ?? 'anonymous',
    ca: () => certificates.ca,
    artifacts: [...(options.artifacts ?? []), openSubfolder(stateFolder, 'tink-stack')],
    files: [...(options.files ?? []), openSubfolder(stateFolder, 'files-edge-orch')],
    version,
    state: store.health,
    metrics: {
      version,
      table: floorTable,
      requests: new RequestFigures(),
      waiting: () => ({ watchers: bus.watchers, heldCalls: workflows.index.waitingCount }),
      now,
    },
    names: () => certificates.names,
    origin: (authority, isSecure) => siteOrigin(originParts, authority, isSecure ? 'https' : 'http'),
    isLocalTrusted: isPlainOnly && options.auth === undefined,
    now,
    onFailure,
  };
  const http = createSiteHttpServer(httpParts);
  const files = createFileServer(httpParts);

  // 4 listeners
  workflows.start();
  floor.start();
  store.follow();
  importWorker.start();
  await provisioning.catchUp();
  const listeners = await openListeners(options, certificates, { http, files, grpc: grpc.accept });
  ownUrl = listeners.ownUrl;
  ownPorts = listeners.all.map(({ port }) => port);
  const syslog =
    options.syslogPort === undefined
      ? undefined
      : await startSyslogServer(
          { hosts, logs, bus, now, onFailure },
          { host: options.host ?? '::', port: options.syslogPort },
        );
  // `kindling build site --rotate tls` makes a new one while we run.
  const certificateFile = serverCertificateFile(stateFolder);
  watchFile(certificateFile, { interval: CERTIFICATE_LOOK_MS, persistent: false }, () => {
    openAuthority(stateFolder, options.names ?? []).then((renewed) => {
      certificates = renewed;
      listeners.secure?.renew({ key: renewed.key, cert: renewed.chain });
      log.info('the server certificate was renewed');
    }, onFailure);
  });
  return {
    urls: listeners.urls,
    syslogPort: syslog?.port,
    get ca() {
      return certificates.ca;
    },
    token: operatorToken,
    projectId,
    announce: (event) => bus.publish(event),
    close: async () => {
      unwatchFile(certificateFile);
      await syslog?.[Symbol.asyncDispose]();
      workflows.stop();
      floor.stop();
      provisioning.stop();
      await importWorker.stop();
      await grpc.close();
      await Promise.all(listeners.all.map((listener) => listener.close()));
      await store.close();
      lock[Symbol.dispose]();
    },
  };
}

function outsideAddress(): string | undefined {
  const addresses = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}

async function openListeners(
  options: StubOptions,
  certificates: SiteCertificates,
  protocols: Protocols & { files: Protocols['http'] },
): Promise<{ urls: Stub['urls']; ownUrl: string; all: Listener[]; secure: TlsListener | undefined }> {
  const host = options.host ?? '::';
  const name = host === '::' || host === '0.0.0.0' ? 'localhost' : host;
  const port = options.port ?? 8443;
  const secure =
    port === false
      ? undefined
      : await listenTls(protocols, { key: certificates.key, cert: certificates.chain }, { host, port });
  const plainPort = options.plainPort ?? (secure ? false : 8080);
  // Beside TLS the plain port is for firmware and iPXE: files, nothing else.
  const inClear = secure
    ? { http: protocols.files, grpc: (socket: Socket) => void socket.destroy() }
    : protocols;
  const plain = plainPort === false ? undefined : await listenPlain(inClear, { host, port: plainPort });
  const urls = {
    http: secure ? `https://${name}:${secure.port}` : `http://${name}:${plain?.port}`,
    grpc: `${name}:${(secure ?? plain)?.port}`,
    ...(plain ? { plain: `http://${name}:${plain.port}` } : {}),
  };
  // Nodes cannot use "localhost": where every address is listened on, they are told the first that leads outside.
  const ownUrl = urls.http.replace('//localhost:', `//${outsideAddress() ?? 'localhost'}:`);
  return { urls, ownUrl, secure, all: [secure, plain].filter((listener) => listener !== undefined) };
}
