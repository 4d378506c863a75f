import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Network } from '../../agent/connection/network.ts';
import { fetchText } from '../../net/http.ts';
import { KindlingError } from '../../protocol/error.ts';
import { pause } from '../../system/wait.ts';
import type { AgentsFigures, AgentsOrder, StubFigures, StubReady } from './messages.ts';

const AGENTS_PER_PROCESS = 1000;
const DEADLINE_MS = 240_000;

export function startAgents(
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
    return start('fleet/agents-process.ts', [JSON.stringify({ ...order, firstIndex, count })], children);
  });
}

/** Starts a program of this folder’s parent, which says what it has to say in messages. */
export function start(file: string, args: string[], children: ChildProcess[]): ChildProcess {
  const child = fork(join(import.meta.dirname, '..', file), args, {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  children.push(child);
  return child;
}

/** The next message of a process; if it dies instead, an error. */
export async function answer<T>(child: ChildProcess): Promise<T> {
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

export async function askStub(stub: ChildProcess): Promise<StubFigures> {
  const reply = answer<StubFigures>(stub);
  stub.send('figures');
  return reply;
}

/** The figures of all processes of agents together. */
export async function figuresOf(hosts: ChildProcess[]): Promise<AgentsFigures> {
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
export async function until(
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

export function apiOf({ url, ca, token }: StubReady) {
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

export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
