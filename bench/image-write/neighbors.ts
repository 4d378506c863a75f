import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WriteImageRequest } from '../../actions/image-writer/index.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Writer } from './bundle-writer.ts';
import { index, makeDisk } from './images.ts';
import { isEqual } from './measure.ts';
import { buildUplinkNetwork } from './uplink-network.ts';
import type { Workspace } from './workspace.ts';

const MIB = 2 ** 20;
const NODES = 8;
const UPLINK_MBIT = 50;
const IMAGE_BYTES = 256 * MIB;
const PORT = 7070;

export interface NeighborsResult {
  nodes: number;
  imageBytes: number;
  /** Everything that crossed the uplink, in images. */
  imagesOverUplink: number;
  seconds: number;
  isEqual: boolean;
}

/** Eight nodes start at once behind one thin uplink and help each other. */
export async function measureNeighbors(
  { folder }: Workspace,
  ours: Writer,
  say: (text: string) => void,
): Promise<NeighborsResult> {
  say(`${NODES} neighbors behind ${UPLINK_MBIT} Mbit/s`);
  const site = join(folder, 'site');
  rmSync(site, { recursive: true, force: true });
  mkdirSync(site);
  makeDisk(join(site, 'site.raw'), IMAGE_BYTES);
  await index(site, 'site.raw', 'site.zst');
  const imageBytes = statSync(join(site, 'site.zst')).size;
  await using network = await buildUplinkNetwork(site, NODES, UPLINK_MBIT);
  const urls = Array.from({ length: NODES }, (_, i) => `http://${network.address(i)}:${PORT}`);
  const targets = urls.map((_, i) => join(site, `node${i}.disk`));
  for (const target of targets) {
    writeFileSync(target, '');
    truncateSync(target, IMAGE_BYTES);
  }
  const before = network.uplinkBytes();
  const startedAt = performance.now();
  await Promise.all(
    targets.map((target, i) => {
      const request: WriteImageRequest = {
        sources: [`${network.originUrl}/site.zst`],
        target,
        chunks: {
          use: 'require',
          neighbors: {
            urls,
            ownUrl: urls[i] ?? '',
            listen: { host: network.address(i), port: PORT },
            lingerMs: 60_000,
          },
        },
      };
      return runOn(network.inNode(i), ours(request));
    }),
  );
  const result = {
    nodes: NODES,
    imageBytes,
    imagesOverUplink: (network.uplinkBytes() - before) / imageBytes,
    seconds: (performance.now() - startedAt) / 1000,
    isEqual: targets.every((target) => isEqual(join(site, 'site.raw'), target, IMAGE_BYTES)),
  };
  rmSync(site, { recursive: true });
  return result;
}

async function runOn(prefix: readonly string[], command: string): Promise<void> {
  const [program = '', ...args] = [...prefix, 'bash', '-c', `exec ${command}`];
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (text: Buffer) => {
    stderr += text.toString();
  });
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (exitCode !== 0)
    throw new KindlingError('KND_COMMAND_FAILED', `a neighbor failed: ${stderr.slice(-400)}`);
}
