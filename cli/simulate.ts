import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { KindlingError } from '../protocol/error.ts';
import { machinesOf, simulate } from '../simulator/simulate.ts';
import { onEndSignal } from '../system/end-signal.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from './server-connection.ts';
import { printable } from './table.ts';

interface SimulateOptions extends ConnectionOptions {
  nodes: number;
  failing: number;
  speed: number;
  profile?: string;
}

/** What simulated nodes get unless a profile is named. Nobody fetches the image. */
const OWN_PROFILE = { name: 'simulated', imageUrl: 'http://images.invalid/simulated.raw.zst' };
const MOST_NODES = 2000;

/** `kindling simulate`: agents without machines, to see a floor at work before there is one. */
export function defineSimulate(command: Command): void {
  withConnection(command)
    .option('--nodes <number>', 'how many machines', Number, 50)
    .option('--failing <number>', 'how many of them have a defect: three kinds in turn', Number, 3)
    .option('--speed <times>', 'as fast as real machines (1), or a multiple of it', Number, 1)
    .option('--profile <profile>', `provision with this (default: one that is made, "${OWN_PROFILE.name}")`)
    .action(runSimulation);
}

async function runSimulation(options: SimulateOptions): Promise<void> {
  checkNumbers(options);
  const end = new AbortController();
  using _signal = onEndSignal(() => end.abort(new Error('stopped')));
  console.log(
    `${options.nodes} machines are switched on; those with a defect wait for you. Ctrl-C ends it, "kindling node list" or the page shows it.`,
  );
  await simulateNodes(options, end.signal);
}

/** Registers the machines and switches them on. */
export async function simulateNodes(options: SimulateOptions, signal: AbortSignal): Promise<void> {
  const connection = new ServerConnection(options);
  await register(connection, options);
  const folder = await mkdtemp(join(tmpdir(), 'kindling-simulator-'));
  try {
    const caFile = join(folder, 'site-ca.crt');
    if (connection.ca !== undefined) await writeFile(caFile, connection.ca);
    await simulate({
      count: options.nodes,
      failing: options.failing,
      speed: options.speed,
      server: connection.origin,
      ...(connection.ca === undefined ? {} : { ca: connection.ca, caFile }),
      folder,
      signal,
      say: (line) => console.error(printable(line)),
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function checkNumbers({ nodes, failing, speed }: SimulateOptions): void {
  if (!(Number.isInteger(nodes) && nodes >= 1 && nodes <= MOST_NODES))
    throw new KindlingError('KND_USAGE', `--nodes is 1 to ${MOST_NODES}`);
  if (!(Number.isInteger(failing) && failing >= 0 && failing <= nodes))
    throw new KindlingError('KND_USAGE', '--failing is 0 to the number of nodes');
  if (!(speed > 0 && speed <= 1000)) throw new KindlingError('KND_USAGE', '--speed is a number up to 1000');
}

/** 1 a profile  2 the machines, but for those that an earlier run has registered */
async function register(
  connection: ServerConnection,
  { nodes, failing, profile }: SimulateOptions,
): Promise<void> {
  if (profile === undefined) {
    const { name, imageUrl } = OWN_PROFILE;
    await connection.call('PUT', `/api/v1/profiles/${name}?force=true`, { imageUrl });
  }
  for (const { name, uuid, serial, mac, place } of machinesOf({ count: nodes, failing })) {
    const registration = { name, uuid, serial, mac, autoOnboard: true, metadata: { place } };
    await connection
      .call('POST', '/api/v1/nodes', { ...registration, profile: profile ?? OWN_PROFILE.name })
      .catch((thrown: unknown) => {
        if (!(thrown instanceof KindlingError && thrown.code === 'KND_NODE_CONFLICT')) throw thrown;
      });
  }
}
