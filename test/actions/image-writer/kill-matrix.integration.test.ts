import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WriteImageRequest, WriteImageResult } from '../../../actions/image-writer/index.ts';
import { indexImage } from '../../../orchestrator-stub/images/index-image.ts';
import { encodeImage, makeDiskImage, seededRandom } from './test-image.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(12 * MIB, 3);
/** What was on the disk before: it boots, and stays as it is until the first byte is written. */
const OLD = makeDiskImage(RAW.length, 99);
const SEED = 20261116;
const PIECE = 32 * 1024;
const CHILD = join(import.meta.dirname, '../../../bench/image-write/writer-program.ts');

let folder: string;
let server: Server;
let url: string;
const files = new Map<string, Buffer>();
/** Called after each piece that was served, with the number of bytes served since the last reset. */
let onServed: (bytes: number) => void = () => {};
let served = 0;
/** The server stands still after so many bytes. */
let holdAt = Number.POSITIVE_INFINITY;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-kill-'));
  const raw = join(folder, 'disk.raw');
  writeFileSync(raw, RAW);
  const { manifest } = await indexImage(raw, `${raw}.zst`, { chunkSize: MIB, level: 1 });
  files.set('/chunked.zst', readFileSync(`${raw}.zst`));
  files.set('/chunked.zst.manifest', Buffer.from(manifest));
  files.set('/plain.zst', encodeImage(RAW, 'zst'));
  files.set('/plain.raw', RAW);
  server = createServer((request, response) => {
    const bytes = files.get(request.url ?? '');
    if (!bytes) return void response.writeHead(404).end();
    const range = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '');
    const start = range ? Number(range[1]) : 0;
    const end = range?.[2] ? Number(range[2]) + 1 : bytes.length;
    response.writeHead(range ? 206 : 200, {
      etag: '"one"',
      'accept-ranges': 'bytes',
      'content-length': end - start,
      ...(range ? { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` } : {}),
    });
    const send = (at: number) => {
      if (at >= end || response.destroyed) return void response.end();
      if (served >= holdAt) return;
      const piece = bytes.subarray(at, Math.min(at + PIECE, end));
      response.write(piece, () => {
        served += piece.length;
        onServed(served);
        send(at + piece.length);
      });
    };
    send(start);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

interface Run {
  result: WriteImageResult | undefined;
  stderr: string;
}

/** Runs the writer in a child; `killAfter` bytes served (plus a delay) it is killed without warning. */
async function runChild(request: WriteImageRequest, kill?: { bytes: number; delayMs: number }): Promise<Run> {
  const child: ChildProcess = spawn(process.execPath, [CHILD, JSON.stringify(request)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (text: Buffer) => {
    stdout += text.toString();
  });
  child.stderr?.on('data', (text: Buffer) => {
    stderr += text.toString();
  });
  served = 0;
  let timer: NodeJS.Timeout | undefined;
  onServed = (bytes) => {
    if (kill && bytes >= kill.bytes) timer ??= setTimeout(() => child.kill('SIGKILL'), kill.delayMs);
  };
  await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  onServed = () => {};
  return { result: stdout ? (JSON.parse(stdout) as WriteImageResult) : undefined, stderr };
}

/** Either the whole image is there, or the untouched old one, or nothing that firmware would boot. */
function judge(disk: Buffer): 'whole' | 'untouched' | 'unbootable' | 'half' {
  if (disk.equals(RAW)) return 'whole';
  if (disk.equals(OLD)) return 'untouched';
  const hasBootSector = disk.subarray(0, 512).some((byte) => byte !== 0);
  const hasTable = disk.toString('latin1', 512, 520) === 'EFI PART';
  const hasBackup = disk.toString('latin1', disk.length - 512, disk.length - 504) === 'EFI PART';
  return hasBootSector || hasTable || hasBackup ? 'half' : 'unbootable';
}

describe.each([
  { name: 'chunked', path: '/chunked.zst', kills: 60 },
  { name: 'plain zst', path: '/plain.zst', kills: 25 },
  { name: 'plain raw', path: '/plain.raw', kills: 20 },
])('a writer of a $name image that is killed at $kills seeded points', ({ path, kills }) => {
  test('leaves the whole image or nothing bootable, and a last run ends bit-equal', {
    timeout: 300_000,
  }, async () => {
    const random = seededRandom(SEED);
    const target = join(folder, `target${path.replace('/', '-')}`);
    const request: WriteImageRequest = {
      sources: [`${url}${path}`],
      target,
      chunks: { journalIntervalMs: 15 },
    };
    const length = files.get(path)?.length ?? 0;
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
      const state = judge(disk);
      expect(state, `after kill ${point} (${JSON.stringify(kill)})`).not.toBe('half');
      if (result) expect(state).toBe('whole');
      if (stderr.includes('going on where')) kept += 1;
    }
    const last = await runChild(request);
    expect(last.stderr).not.toContain('KND_');
    expect(readFileSync(target).equals(RAW)).toBe(true);
    if (path === '/chunked.zst') expect(kept).toBeGreaterThan(kills / 4);
  });
});

test('a write that went on fetches only what was missing', async () => {
  const target = join(folder, 'resume.disk');
  writeFileSync(target, Buffer.alloc(RAW.length, 0xaa));
  const request = { sources: [`${url}/chunked.zst`], target, chunks: { journalIntervalMs: 10 } };
  const length = files.get('/chunked.zst')?.length ?? 0;
  holdAt = length * 0.8;
  await runChild(request, { bytes: holdAt, delayMs: 1500 });
  holdAt = Number.POSITIVE_INFINITY;
  const { result } = await runChild(request);
  expect(readFileSync(target).equals(RAW)).toBe(true);
  expect(result?.chunks?.kept).toBeGreaterThan(0);
  expect(result?.bytesFetched).toBeLessThan(length);
});
