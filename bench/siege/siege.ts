import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchmarkContext, Row, RunBenchmark } from '../benchmark.ts';
import { nodeOf } from '../fleet/messages.ts';
import {
  answer,
  apiOf,
  askStub,
  inParallel,
  percentile,
  start,
  startAgents,
  until,
} from '../fleet/processes.ts';
import { ADDRESSES, type AttackFigures, type SiegeReady } from './messages.ts';

const MOST_TIMES_P99 = 2;
const MOST_MB = 1024;
const MOST_DISK_MB = 1024;

interface Run {
  row: Row;
  finished: number;
  p99: number;
  memoryMb: number;
  diskMb: number;
  /** CPU seconds per second that the attackers took. */
  attackerShare: number;
}

/**
 * Honest agents provision while 200 addresses without a token do everything of S-08 to S-12 and S-20 at once; then the same agents
 * beside a process that burns the CPU that the attackers took, and sends nothing. `npm run bench -- siege [1000] [rounds]`
 */
export const benchmarkSiege: RunBenchmark = async ({ args, say }) => {
  const size = Number(args[0] ?? 1000);
  const rounds = Number(args[1] ?? 1);
  const sieges: Run[] = [];
  const controls: Run[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const siege = await provision(size, undefined, say);
    sieges.push(siege);
    controls.push(await provision(size, siege.attackerShare, say));
  }
  const p99 = (runs: Run[]) => Math.min(...runs.map((run) => run.p99));
  const times = p99(sieges) / p99(controls);
  const worst = (of: (run: Run) => number) => Math.max(...sieges.map(of));
  const finished = Math.min(...sieges.map((run) => run.finished));
  return {
    rows: [...sieges, ...controls].map(({ row }) => row),
    bars: [
      {
        name: `${size} agents finish while ${ADDRESSES.length} addresses attack`,
        want: 'all',
        got: finished,
        ok: finished === size,
      },
      {
        name: 'p99 of an honest call, next to attackers that burn the same CPU and send nothing',
        want: `at most ${MOST_TIMES_P99} times`,
        got: `${times.toFixed(2)} times`,
        ok: times <= MOST_TIMES_P99,
      },
      {
        name: 'memory of the server under siege',
        want: `at most ${MOST_MB} MB`,
        got: `${worst((run) => run.memoryMb)} MB`,
        ok: worst((run) => run.memoryMb) <= MOST_MB,
      },
      {
        name: 'growth of its state folder',
        want: `at most ${MOST_DISK_MB} MB`,
        got: `${worst((run) => run.diskMb)} MB`,
        ok: worst((run) => run.diskMb) <= MOST_DISK_MB,
      },
    ],
  };
};

async function provision(size: number, burn: number | undefined, say: BenchmarkContext['say']): Promise<Run> {
  const kind = burn === undefined ? 'siege' : 'same CPU, nothing sent';
  const folder = await mkdtemp(join(tmpdir(), 'kindling-siege-'));
  const children: ChildProcess[] = [];
  try {
    const state = join(folder, 'site');
    const site = start('siege/site-process.ts', [state], children);
    const ready = await answer<SiegeReady>(site);
    const caFile = join(folder, 'ca.pem');
    await writeFile(caFile, ready.ca);
    const api = apiOf(ready);
    await api('PUT', '/api/v1/profiles/edge', { imageUrl: 'http://images.test/ubuntu.raw.gz' });
    await inParallel(
      Array.from({ length: size }, (_, index) => nodeOf(index).uuid),
      (uuid) => api('POST', '/api/v1/nodes', { uuid, autoOnboard: true, profile: 'edge' }),
    );
    const before = { disk: await bytesIn(state), ...(await askStub(site)) };

    say(`${kind}: ${size} agents start`);
    const { url, syslogPort, tftpPort } = ready;
    const attackers = start(
      'siege/attackers-process.ts',
      [JSON.stringify({ url, syslogPort, tftpPort, burn })],
      children,
    );
    const startedAt = performance.now();
    const order = { server: url, caFile, folder, dialect: 'tink-legacy' as const };
    const hosts = startAgents(size, order, children);
    const work = await until(hosts, ({ finished, failed }) => finished + failed.length >= size, kind);
    const seconds = (performance.now() - startedAt) / 1000;

    const reply = answer<AttackFigures>(attackers);
    attackers.send('figures');
    const attack = await reply;
    const after = await askStub(site);
    const diskMb = Math.round(((await bytesIn(state)) - before.disk) / 2 ** 20);
    const sorted = work.latencies.toSorted((a, b) => a - b);
    const attackCount = Object.values(attack.counts).reduce((sum, count) => sum + count, 0);
    for (const [name, count] of Object.entries(attack.counts)) say(`  ${count} × ${name}`);
    return {
      finished: work.finished,
      p99: percentile(sorted, 0.99),
      memoryMb: after.rssMb,
      diskMb,
      attackerShare: attack.cpuSeconds / seconds,
      row: {
        run: kind,
        agents: size,
        finished: work.finished,
        seconds: Math.round(seconds),
        attacks: attackCount,
        'attackers CPU s': Math.round(attack.cpuSeconds),
        'server CPU s': Math.round(after.cpuSeconds - before.cpuSeconds),
        calls: work.requests,
        'p50 ms': Math.round(percentile(sorted, 0.5)),
        'p99 ms': Math.round(percentile(sorted, 0.99)),
        'server MB': after.rssMb,
        'more MB': after.rssMb - before.rssMb,
        'disk MB': diskMb,
      },
    };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map(ended));
    await rm(folder, { recursive: true, force: true });
  }
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(
    files.map((file) =>
      stat(join(folder, file)).then(
        (found) => found.size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
