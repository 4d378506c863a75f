import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TinkDialect } from '../../protocol/tink-dialect.ts';
import { pause } from '../../system/wait.ts';
import type { BenchmarkContext, Row, RunBenchmark } from '../benchmark.ts';
import { nodeOf, type StubReady } from './messages.ts';
import {
  answer,
  apiOf,
  askStub,
  figuresOf,
  inParallel,
  percentile,
  start,
  startAgents,
  until,
} from './processes.ts';

const HOLD_SECONDS = 6;

/**
 * Many agents against one stub, over TLS with tokens: all onboard, hold their polls, then each runs the "ubuntu" workflow of twelve
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
    const stub = start('fleet/stub-process.ts', [join(folder, 'stub'), dialect], children);
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

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
