import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { releaseAbandoned } from '../actions/process/run-ledger.ts';
import { reconnectBackOff, retryUntilItWorks } from '../net/retry.ts';
import type { HandOver } from '../protocol/action-events.ts';
import { KindlingError } from '../protocol/error.ts';
import type { Inventory } from '../protocol/inventory.ts';
import { encodeProgress } from '../protocol/progress-text.ts';
import { leaveMicroOs } from '../system/leave-micro-os.ts';
import { run } from '../system/run.ts';
import { pause } from '../system/wait.ts';
import type { Config, ResolvedConfig } from './config/resolve-config.ts';
import { type Endpoint, parseEndpoint } from './connection/endpoint.ts';
import { explainCallError } from './connection/explain.ts';
import { addExtraHosts } from './connection/extra-hosts.ts';
import { createNetwork, type Network, openChannel } from './connection/network.ts';
import { withServerDefaults } from './connection/server-defaults.ts';
import type { Credentials } from './credentials/credentials.ts';
import { type LocalFront, startLocalFront } from './local-front/local-front.ts';
import { type Console, openConsoles } from './onboarding/console.ts';
import { decideNodeFacts, type NodeFacts } from './onboarding/node-facts.ts';
import { obtainCredentials } from './onboarding/obtain-credentials.ts';
import { machineWithTpm, type ProvableMachine } from './onboarding/prove-machine.ts';
import { reportDiscovery } from './report/discovery.ts';
import { reportBootKpis } from './report/kpi.ts';
import type { OtlpNode } from './report/otlp.ts';
import { type AgentStatus, Reporting } from './report/reporting.ts';
import { otlpSink } from './report/sinks.ts';
import { actionEnvironment } from './workflow/action-environment.ts';
import { AnyDialect } from './workflow/any-dialect.ts';
import { WorkflowChannel } from './workflow/channel.ts';
import { decideWorkflowEndpoint } from './workflow/decide-endpoint.ts';
import { createExecutor, type Executor } from './workflow/executor.ts';
import { Journal } from './workflow/journal.ts';
import { startInstalledSystem } from './workflow/start-installed-system.ts';
import type { Attributes } from './workflow/tink-current.ts';
import { workUntilHandOver } from './workflow/work-loop.ts';

export interface AgentOptions {
  resolved: ResolvedConfig;
  takeInventory: () => Promise<Inventory>;
  /** What a workflow server of today's Tinkerbell is told about the machine. */
  readAttributes: () => Attributes;
  signal?: AbortSignal;
  /** What the agent is doing or waiting for, for a screen. */
  onStatus?: (status: AgentStatus) => void;
  /** The log as a person reads it. */
  onHumanLine?: (line: string) => void;
  /** Where a person can sign in; every console of the machine by default. */
  openConsoles?: () => Console[];
  /** What proves which machine this is; its TPM by default. */
  machine?: ProvableMachine;
  /** The rest is for the fleet simulator and tests. */
  executor?: Executor;
  handOver?: (how: HandOver) => Promise<void>;
  /** Makes the waiting between tries shorter; 1 in production. */
  pace?: number;
}

/** Between two looks of a node whose disk should have a system and has none. */
const NO_SYSTEM_PAUSE_MS = 30_000;

interface Agent {
  options: AgentOptions;
  config: Config;
  network: Network;
  reporting: Reporting;
  inventory: Inventory;
  facts: () => NodeFacts;
  journal: Journal;
  /** Once the node is onboarded. */
  credentials?: Credentials | undefined;
}

/**
 * The agent, start to end:
 * 1 read config  2 identify and take inventory  3 show the node to the server  4 onboard → credentials
 * 5 get work  6 run each action, report  7 hand over
 * It never gives up while a person could still fix the other side.
 */
export async function runAgent(options: AgentOptions): Promise<void> {
  const startedAt = Date.now();
  const resolved = withServerDefaults(options.resolved);
  const { config } = resolved;
  const reporting = new Reporting({
    config,
    onHumanLine: options.onHumanLine,
    onStatus: options.onStatus,
  });
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ...(options.signal ? [options.signal] : [])]);
  try {
    for (const warning of resolved.warnings) reporting.log.warn(warning);
    if (config.extraHosts) addExtraHosts(config.extraHosts);
    const network = createNetwork(config);

    // What an agent before this one left running must not wait for the next action: it may be writing, and nobody reports on it.
    const left = await releaseAbandoned(run, ledgersOf(config));
    if (left > 0) reporting.log.warn('ended what an earlier agent had left running');

    reporting.doing('taking inventory');
    const inventory = await options.takeInventory();
    reporting.log.setBindings({ node: inventory.identity.nodeId });
    reportBootKpis(reporting.log, resolved.stamps, startedAt);
    const facts = () => decideNodeFacts(config, inventory.identity, networkInterfaces());
    const journal = new Journal(join(config.stateFolder, 'journal.jsonl'));
    const agent: Agent = {
      options: { ...options, signal },
      config,
      network,
      reporting,
      inventory,
      facts,
      journal,
    };

    void showToServer(agent);
    const how = journal.pendingHandOver() ?? (await onboardAndWork(agent));

    if (how) {
      reporting.log.info(`handing over: ${how.kind}`);
      await reporting.end();
      await (options.handOver ?? (({ kind }) => leaveMicroOs(kind)))(how);
    }
  } finally {
    await reporting.end();
    stop.abort(new Error('the agent has ended'));
  }
}

/** In the background: a server that is away must not hold up the rest. Our servers get the log from here on. */
async function showToServer(agent: Agent): Promise<void> {
  const { options, config, network, reporting, inventory } = agent;
  const { server } = config;
  if (server === undefined) return;
  const hostId = await retryUntilItWorks(() => reportDiscovery(network, server, inventory, options.signal), {
    name: `the discovery report to ${server}`,
    signal: options.signal,
    onFailure: reporting.waiting,
  }).catch((error: unknown) => {
    if (!options.signal?.aborted) reporting.log.warn(`no discovery report: ${String(error)}`);
    return undefined;
  });
  if (hostId !== undefined) shipLogsTo(agent, parseEndpoint(server, 'verified'), { hostId });
}

/** Onboards and works; if the server has revoked the node's credentials meanwhile, does it all again. */
async function onboardAndWork(agent: Agent): Promise<HandOver | undefined> {
  const { config, inventory } = agent;
  for (let isAnew = false; ; isAnew = true) {
    const round = new AbortController();
    const signal = AbortSignal.any([round.signal, ...(agent.options.signal ? [agent.options.signal] : [])]);
    try {
      const credentials = await onboardNode(agent, isAnew);
      agent.credentials = credentials;
      if (credentials) void credentials.keepFresh(signal);
      if (credentials && config.loggingServer !== undefined && !isAnew) {
        const { nodeId } = inventory.identity;
        shipLogsTo(agent, parseEndpoint(config.loggingServer, siteTls(config)), { nodeId });
      }
      return await work(agent, credentials);
    } catch (error) {
      if (error instanceof KindlingError && error.code === 'KND_ONBOARD_ALREADY') {
        const how = await goToDisk(agent, error);
        if (how) return how;
        continue;
      }
      if (!(error instanceof KindlingError) || error.code !== 'KND_CREDENTIALS_REFUSED') throw error;
      agent.reporting.log.warn({ code: error.code, hint: error.hint }, `onboarding anew: ${error.message}`);
    } finally {
      round.abort(new Error('this round is over'));
    }
  }
}

/** The node has its system. Undefined where no disk has one: then a person has to look, and the server is asked again. */
async function goToDisk(agent: Agent, error: KindlingError): Promise<HandOver | undefined> {
  const { reporting, inventory, options } = agent;
  reporting.doing('going on to the installed system');
  const how = await startInstalledSystem(inventory, executorOf(agent), reporting.log, options.signal);
  if (how) {
    reporting.log.info({ code: error.code }, `${error.message}: it starts from its disk`);
    return how;
  }
  const nextTryMs = NO_SYSTEM_PAUSE_MS * (options.pace ?? 1);
  reporting.log.warn({ code: error.code, hint: error.hint }, `${error.message}, but no disk has a system`);
  reporting.waiting({ name: 'a system on a disk, or an order to write one', error, nextTryMs });
  await pause(nextTryMs, options.signal);
  return undefined;
}

/** Undefined where the orchestrator knows no onboarding (plain Tinkerbell). */
async function onboardNode(agent: Agent, isAnew: boolean): Promise<Credentials | undefined> {
  const { config, network, reporting, facts, options } = agent;
  if (config.onboardingStream === undefined) return undefined;
  if (config.keycloak === undefined) {
    throw new KindlingError('KND_CONFIG_MISSING', 'env_config has onboarding_stream_svc but no KEYCLOAK_URL');
  }
  reporting.doing(`onboarding at ${config.onboardingStream}`);
  const { uuid, serial, mac, ip } = facts();
  reporting.log.info({ uuid, serial, mac, ip }, 'this is what the onboarding server is told');
  // As in the original, TIMEOUT counts only with DEBUG=true.
  const deadline = config.debug ? [AbortSignal.timeout(config.timeout)] : [];
  return obtainCredentials({
    config,
    network,
    log: reporting.log,
    facts,
    isAnew,
    keycloak: config.keycloak,
    openConsoles: options.openConsoles ?? openConsoles,
    machine: options.machine ?? machineWithTpm,
    onWaiting: reporting.waiting,
    signal: AbortSignal.any([...deadline, ...(options.signal ? [options.signal] : [])]),
    pace: options.pace,
  });
}

function shipLogsTo(agent: Agent, endpoint: Endpoint, node: OtlpNode): void {
  const { network, reporting, facts } = agent;
  reporting.shipTo(
    otlpSink({
      network,
      endpoint,
      source: { hostGuid: facts().uuid, node, stream: reporting.stream },
      credentials: () => agent.credentials,
    }),
  );
}

async function work(agent: Agent, credentials: Credentials | undefined): Promise<HandOver | undefined> {
  const { config, network, reporting, facts, options } = agent;
  const { log } = reporting;
  const { endpoint, sendsToken } = decideWorkflowEndpoint(config);
  const client = openChannel(network, endpoint);
  const front = await startLocalFront({
    config,
    network,
    log,
    token: async (kind) => (kind === 'access' ? credentials?.accessToken() : credentials?.releaseToken()),
    renewToken: async (kind, rejected) => credentials?.renew(kind === 'access' ? rejected : undefined),
  });
  const workerId = facts().mac;
  const server = new AnyDialect({
    channel: new WorkflowChannel(client, sendsToken ? credentials : undefined),
    workerId,
    attributes: options.readAttributes(),
    dialect: config.dialect,
    onDetected: (dialect) => log.info({ dialect, workerId }, `the workflow server speaks ${dialect}`),
  });
  try {
    reporting.doing('asking for work');
    return await workUntilHandOver({
      server,
      executor: executorOf(agent, front.rewrite),
      journal: agent.journal,
      explain: (what, error) => explainCallError(network, endpoint, what, error),
      log,
      pollIntervalMs: config.pollInterval,
      isOnce: config.once,
      whenDone: config.handOver === 'reboot' ? { kind: 'reboot' } : undefined,
      onIdle: () => reporting.waiting({ name: 'a workflow' }),
      onWaiting: reporting.waiting,
      onProgress: ({ name }, progress) => reporting.doing(`${name}: ${encodeProgress(progress)}`),
      signal: options.signal,
      backOff: reconnectBackOff(options.pace),
    });
  } finally {
    await front.close();
    client.close();
  }
}

function executorOf(
  { options, config }: Agent,
  rewrite: LocalFront['rewrite'] = (environment) => environment,
): Executor {
  return options.executor ?? createExecutor(rewrite, actionEnvironment(config), ledgersOf(config));
}

/** Where running actions note what they take. */
function ledgersOf({ stateFolder }: Config): string {
  return join(stateFolder, 'actions');
}

function siteTls(config: Config): Endpoint['tls'] {
  return config.tls ? 'verified' : 'off';
}
