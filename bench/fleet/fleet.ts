import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Network } from '../../agent/connection/network.ts';
import { fetchText } from '../../net/http.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { TinkDialect } from '../../protocol/tink-dialect.ts';
import { pause } from '../../system/wait.ts';
import type { BenchmarkContext, Row, RunBenchmark } from '../benchmark.ts';
import {
  type AgentsFigures,
  type AgentsOrder,
  nodeOf,
  type StubFigures,
  type StubReady,
} from './messages.ts';

const AGENTS_PER_PROCESS = 1000;
const HOLD_SECONDS = 6;
const DEADLINE_MS = 240_000;

/**
 * Many agents against one stub, over TLS with tokens: all onboard, hold their polls, then each runs the «ubuntu» workflow of twelve
 * actions whose work is left out. `npm run bench -- fleet [10,100,1000] [tink-legacy,tink-current]`
 */
export const benchmarkFleet: RunBenchmark = async ({ args, say }) => {
  const sizes = (args[0] ?? '10,100,1000').split(',').map(Number);
  const dialects = (args[1] ?? 'tink-legacy,tink-current').split(',') as TinkDialect[];
  const rows: Row[] = [];
  for (const dialect of dialects) {
    for (const size of sizes) rows.push(await runFleet(size, dialect, say));
  }
  const largest = Math.max(...sizes);
  const finished = rows
    .filter(({ agents }) => agents === largest)
    .every(({ finished }) => finished === largest);
  return {
    rows,
    bars: [
      {
        name: `${largest} agents at once finish a workflow each`,
        want: 'all, in both dialects',
        got: finished ? 'all' : 'not all',
        ok: finished,
      },
    ],
  };
};

async function runFleet(size: number, dialect: TinkDialect, say: BenchmarkContext['say']): Promise<Row> {
  say(`${size} agents, ${dialect}: starting`);
  const folder = await mkdtemp(join(tmpdir(), 'kindling-fleet-'));
  const children: ChildProcess[] = [];
  try {
    const stub = start('stub-process.ts', [join(folder, 'stub'), dialect], children);
    const ready = await answer<StubReady>(stub);
    const caFile = join(folder, 'ca.pem');
    await writeFile(caFile, ready.ca);
    const api = apiOf(ready);
    await api('PUT', '/api/v1/profiles/edge', { imageUrl: 'http://images.test/ubuntu.raw.gz' });
    await api('PATCH', '/api/v1/site', { autoProvision: false });
    const indices = Array.from({ length: size }, (_, index) => index);
    await inParallel(indices, (index) =>
      api('POST', '/api/v1/nodes', { uuid: nodeOf(index).uuid, autoOnboard: true }),
    );

    const onboardingAt = performance.now();
    const hosts = startAgents(size, { server: ready.url, caFile, folder, dialect }, children);
    await until(hosts, ({ idle }) => idle === size, `${size} agents to onboard`);
    const onboardSeconds = (performance.now() - onboardingAt) / 1000;

    say(`${size} agents, ${dialect}: all hold their polls`);
    await figuresOf(hosts);
    const idleCpu = (await askStub(stub)).cpuSeconds;
    await pause(HOLD_SECONDS * 1000);
    const held = await figuresOf(hosts);
    const afterIdle = await askStub(stub);

    say(`${size} agents, ${dialect}: a workflow for each`);
    const workAt = performance.now();
    await inParallel(indices, (index) =>
      api('POST', `/api/v1/nodes/${nodeOf(index).uuid}/provision`, { profile: 'edge' }),
    );
    const work = await until(
      hosts,
      ({ finished, failed }) => finished + failed.length === size,
      'all workflows',
    );
    const workSeconds = (performance.now() - workAt) / 1000;
    const after = await askStub(stub);

    const sorted = work.latencies.toSorted((a, b) => a - b);
    return {
      agents: size,
      dialect,
      'onboard s': round(onboardSeconds),
      'idle requests/s': round(held.requests / HOLD_SECONDS),
      'idle stub CPU %': Math.round(((afterIdle.cpuSeconds - idleCpu) / HOLD_SECONDS) * 100),
      'workflows s': round(workSeconds),
      'stub CPU s': round(after.cpuSeconds),
      'requests/s': Math.round(work.requests / workSeconds),
      'p50 ms': round(percentile(sorted, 0.5)),
      'p99 ms': round(percentile(sorted, 0.99)),
      'stub MB': Math.max(afterIdle.rssMb, after.rssMb),
      finished: work.finished,
    };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
}

function startAgents(
  size: number,
  order: Omit<AgentsOrder, 'firstIndex' | 'count'>,
  children: ChildProcess[],
): ChildProcess[] {
  const starts = Array.from(
    { length: Math.ceil(size / AGENTS_PER_PROCESS) },
    (_, n) => n * AGENTS_PER_PROCESS,
  );
  return starts.map((firstIndex) => {
    const count = Math.min(AGENTS_PER_PROCESS, size - firstIndex);
    return start('agents-process.ts', [JSON.stringify({ ...order, firstIndex, count })], children);
  });
}

function start(file: string, args: string[], children: ChildProcess[]): ChildProcess {
  const child = fork(join(import.meta.dirname, file), args, {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  children.push(child);
  return child;
}

/** The next message of a process; if it dies instead, an error. */
async function answer<T>(child: ChildProcess): Promise<T> {
  const answered = new AbortController();
  const { signal } = answered;
  const gone = once(child, 'exit', { signal }).then(([code]) => {
    throw new KindlingError('KND_COMMAND_FAILED', `a process of the fleet ended with exit code ${code}`);
  });
  gone.catch(() => {}); // also when it is not waited for any more
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), gone])) as [T];
    return message;
  } finally {
    answered.abort();
  }
}

async function askStub(stub: ChildProcess): Promise<StubFigures> {
  const reply = answer<StubFigures>(stub);
  stub.send('figures');
  return reply;
}

/** The figures of all processes of agents together. */
async function figuresOf(hosts: ChildProcess[]): Promise<AgentsFigures> {
  const all = await Promise.all(
    hosts.map((host) => {
      const reply = answer<AgentsFigures>(host);
      host.send('figures');
      return reply;
    }),
  );
  return all.reduce((sum, next) => ({
    kind: 'agents',
    idle: sum.idle + next.idle,
    finished: sum.finished + next.finished,
    failed: [...sum.failed, ...next.failed],
    states: [...sum.states, ...next.states],
    requests: sum.requests + next.requests,
    latencies: [...sum.latencies, ...next.latencies],
  }));
}

/** Asks until the figures fit; gives the sums over the whole time. */
async function until(
  hosts: ChildProcess[],
  isDone: (figures: AgentsFigures) => boolean,
  name: string,
): Promise<AgentsFigures> {
  const deadline = performance.now() + DEADLINE_MS;
  const latencies: number[] = [];
  for (let requests = 0; ; ) {
    const figures = await figuresOf(hosts);
    requests += figures.requests;
    for (const latency of figures.latencies) latencies.push(latency);
    if (isDone(figures)) return { ...figures, requests, latencies };
    if (performance.now() > deadline) {
      const { idle, finished, failed, states } = figures;
      throw new KindlingError(
        'KND_TIMEOUT',
        `waited too long for ${name}: ${idle} idle, ${finished} finished`,
        {
          cause: new Error(states.join('; ')),
          evidence: { failed: failed.slice(0, 5) },
        },
      );
    }
    await pause(250);
  }
}

function apiOf({ url, ca, token }: StubReady) {
  const network: Network = { trust: createSecureContext({ ca }), proxies: {} };
  return async (method: string, path: string, json: unknown): Promise<void> => {
    const body = JSON.stringify(json);
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    };
    const { status, body: said } = await fetchText(network, `${url}${path}`, { method, body, headers });
    if (status > 299)
      throw new KindlingError('KND_COMMAND_FAILED', `${method} ${path}: HTTP ${status} ${said}`);
  };
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
