import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WriteImageRequest, WriteImageResult } from '../../../actions/image-writer/index.ts';
import { bundleWriter, type Writer } from '../../../bench/image-write/bundle-writer.ts';
import { indexImage } from '../../../images/index-image.ts';
import { judge, systemOn, viewOf } from '../../crash-explorer/judge.ts';
import { PATIENCE } from '../../seeds/scale.ts';
import { rounds, testRandom } from '../../seeds/seeds.ts';
import { PiecewiseServer } from './piecewise-server.ts';
import { encodeImage, makeDiskImage } from './test-image.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(12 * MIB, 3);
/** What was on the disk before: it boots, and stays as it is until the first byte is written. */
const OLD = makeDiskImage(RAW.length, 99);
const SEED = 20261116;
const PIECE = 32 * 1024;

let folder: string;
let server: PiecewiseServer;
/** One file, so that it starts quickly: it is started more than a hundred times. */
let writer: Writer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-kill-'));
  const raw = join(folder, 'disk.raw');
  writeFileSync(raw, RAW);
  const { manifest } = await indexImage(raw, `${raw}.zst`, { chunkSize: MIB, level: 1 });
  server = await PiecewiseServer.start(PIECE);
  server.files
    .set('chunked.zst', readFileSync(`${raw}.zst`))
    .set('chunked.zst.manifest', Buffer.from(manifest))
    .set('plain.zst', encodeImage(RAW, 'zst'))
    .set('plain.raw', RAW)
    .set('disk.qcow2', encodeImage(RAW, 'qcow2'));
  writer = await bundleWriter(join(folder, 'bundle'));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

interface Run {
  result: WriteImageResult | undefined;
  stderr: string;
}

/** Runs the writer in a child; `killAfter` bytes served (plus a delay) it is killed without warning. */
async function runChild(request: WriteImageRequest, kill?: { bytes: number; delayMs: number }): Promise<Run> {
  const child: ChildProcess = spawn('bash', ['-c', `exec ${writer(request)}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (text: Buffer) => {
    stdout += text.toString();
  });
  child.stderr?.on('data', (text: Buffer) => {
    stderr += text.toString();
  });
  const before = server.served();
  let timer: NodeJS.Timeout | undefined;
  server.onServed = () => {
    if (kill && server.served() - before >= kill.bytes)
      timer ??= setTimeout(() => child.kill('SIGKILL'), kill.delayMs);
  };
  await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  server.onServed = () => {};
  return { result: stdout ? (JSON.parse(stdout) as WriteImageResult) : undefined, stderr };
}

const SYSTEMS = [systemOn(RAW, 512), systemOn(OLD, 512)];

describe.each([
  { name: 'chunked', file: 'chunked.zst', kills: rounds(60) },
  { name: 'plain zst', file: 'plain.zst', kills: rounds(25) },
  { name: 'plain raw', file: 'plain.raw', kills: rounds(20) },
  { name: 'qcow2', file: 'disk.qcow2', kills: rounds(15) },
])('a writer of a $name image that is killed at $kills seeded points', ({ file, kills }) => {
  test('leaves the whole image or nothing bootable, and a last run ends bit-equal', {
    timeout: 300_000 * PATIENCE,
  }, async () => {
    const random = testRandom(SEED);
    const target = join(folder, `target-${file}`);
    const request: WriteImageRequest = {
      sources: [`${server.url}/${file}`],
      target,
      chunks: { journalIntervalMs: 15 },
    };
    const length = server.lengthOf(file);
    let kept = 0;
    for (let point = 0; point < kills; point += 1) {
      // a fresh disk full of an older image now and then; otherwise the one the last kill left behind
      if (point % 10 === 0) writeFileSync(target, OLD);
      const isLate = random() < 0.25;
      const kill = isLate
        ? { bytes: length * 0.9, delayMs: Math.floor(random() * 80) }
        : { bytes: Math.floor(random() * length), delayMs: 0 };
      const { result, stderr } = await runChild(request, kill);
      const disk = readFileSync(target);
      const state = judge(viewOf(disk, 512), SYSTEMS);
      expect(['nothing', 'whole'], `after kill ${point} (${JSON.stringify(kill)})`).toContain(state);
      if (result) expect(disk.equals(RAW)).toBe(true);
      if (stderr.includes('going on where')) kept += 1;
    }
    const last = await runChild(request);
    expect(last.stderr).not.toContain('KND_');
    expect(readFileSync(target).equals(RAW)).toBe(true);
    if (file === 'chunked.zst') expect(kept).toBeGreaterThan(kills / 4);
  });
});

test('a write that went on fetches only what was missing', async () => {
  const target = join(folder, 'resume.disk');
  writeFileSync(target, Buffer.alloc(RAW.length, 0xaa));
  const request = { sources: [`${server.url}/chunked.zst`], target, chunks: { journalIntervalMs: 10 } };
  const length = server.lengthOf('chunked.zst');
  const holdAt = server.served() + length * 0.8;
  server.fateOf = () => (server.served() >= holdAt ? 'hold' : 'send');
  await runChild(request, { bytes: length * 0.8, delayMs: 1500 });
  server.fateOf = () => 'send';
  const { result } = await runChild(request);
  expect(readFileSync(target).equals(RAW)).toBe(true);
  expect(result?.chunks?.kept).toBeGreaterThan(0);
  expect(result?.bytesFetched).toBeLessThan(length);
});
