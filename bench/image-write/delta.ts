import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { WriteImageResult } from '../../actions/image-writer/index.ts';
import { decodeManifest } from '../../formats/image-manifest.ts';
import type { Writer } from './bundle-writer.ts';
import { index } from './images.ts';
import { isEqual, measure } from './measure.ts';
import type { Workspace } from './workspace.ts';

const MIB = 2 ** 20;

export interface DeltaResult {
  changedShare: number;
  fetchedShare: number;
  deltaSeconds: number;
  isDeltaEqual: boolean;
  corruptedBlocks: number;
  repairedChunks: number;
  isRepairEqual: boolean;
}

/** An update that changes 2 % of the content, other files in runs of 4 MiB that fit no chunk; then a repair of 20 damaged blocks. */
export async function measureDelta(
  workspace: Workspace,
  ours: Writer,
  say: (text: string) => void,
): Promise<DeltaResult> {
  const { folder, url, sizes } = workspace;
  say('delta: an image with 2 % changed');
  const raw = join(folder, 'changed.raw');
  execFileSync('cp', ['--sparse=always', join(folder, 'disk.raw'), raw]);
  const chunks = decodeManifest(readFileSync(join(folder, 'chunked.zst.manifest'), 'utf8')).chunks.map(
    ({ index }) => index,
  );
  const runs = Math.max(1, Math.round(chunks.length * 0.02));
  const step = Math.floor(chunks.length / (runs + 1));
  const image = openSync(join(folder, 'disk.raw'), 'r');
  const other = Buffer.alloc(4 * MIB);
  for (let i = 1; i <= runs; i += 1) {
    readSync(image, other, 0, other.length, (chunks[i * step - 1] ?? 1) * 4 * MIB - MIB);
    overwrite(raw, (chunks[i * step] ?? 1) * 4 * MIB + 1.5 * MIB, other);
  }
  closeSync(image);
  await index(folder, 'changed.raw', 'changed.zst');

  const target = workspace.freshDisk(sizes.big); // bytes are counted, not seconds, and the memory holds two images already
  await measure(ours({ sources: [`${url}/chunked.zst`], target }));
  const sources = [`${url}/changed.zst`];
  const delta = await measure(ours({ sources, target, chunks: { mode: 'delta' } }));
  const isDeltaEqual = isEqual(raw, target, sizes.big);
  const fetched = (JSON.parse(delta.stdout) as WriteImageResult).bytesFetched;

  say('repair: 20 damaged blocks');
  const damaged = Array.from(
    { length: 20 },
    (_, i) => (chunks[Math.floor(((i + 1) * chunks.length) / 22)] ?? 1) * 4 * MIB + 65_536,
  );
  for (const position of damaged) overwrite(target, position, Buffer.alloc(4096, 0x5a));
  const repair = await measure(ours({ sources, target, chunks: { mode: 'repair' } }));
  const repaired = (JSON.parse(repair.stdout) as WriteImageResult).chunks?.fromOrigin ?? -1;
  const isRepairEqual = isEqual(raw, target, sizes.big);
  const fileBytes = statSync(join(folder, 'changed.zst')).size;
  for (const name of ['changed.raw', 'changed.zst', 'changed.zst.manifest']) rmSync(join(folder, name));
  return {
    changedShare: runs / chunks.length,
    fetchedShare: fetched / fileBytes,
    deltaSeconds: delta.wallSeconds,
    isDeltaEqual,
    corruptedBlocks: new Set(damaged).size,
    repairedChunks: repaired,
    isRepairEqual,
  };
}

function overwrite(path: string, position: number, bytes: Buffer): void {
  const fd = openSync(path, 'r+');
  writeSync(fd, bytes, 0, bytes.length, position);
  closeSync(fd);
}
