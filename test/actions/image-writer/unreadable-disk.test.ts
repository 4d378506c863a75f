import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ChunkTable, STATE } from '../../../actions/image-writer/chunks/chunk-table.ts';
import { type ChunkTask, Figures } from '../../../actions/image-writer/chunks/chunk-task.ts';
import { ChunkWorker } from '../../../actions/image-writer/chunks/chunk-worker.ts';
import { planSpans } from '../../../actions/image-writer/chunks/plan-spans.ts';
import { readBack } from '../../../actions/image-writer/read-back.ts';
import { Withheld } from '../../../actions/image-writer/target/withheld.ts';
import { decodeManifest, encodeManifest } from '../../../formats/image-manifest.ts';

const MIB = 1024 * 1024;
const SHA = 'a'.repeat(64);

/** A disk of which nothing can be read: reading from a descriptor for writing fails, as reading from a dead sector does. */
function unreadableDisk() {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-unreadable-'));
  const path = join(folder, 'disk');
  writeFileSync(path, Buffer.alloc(4 * MIB));
  const fd = openSync(path, 'a');
  const facts = { path, size: 4 * MIB, sectorSize: 512, isBlockDevice: false, isDirect: false };
  return {
    target: { ...facts, fd, bufferedFd: fd, close: () => {} },
    [Symbol.dispose]: () => {
      closeSync(fd);
      rmSync(folder, { recursive: true });
    },
  };
}

test('what a repair cannot read is fetched again, like what differs', async () => {
  using disk = unreadableDisk();
  const facts = { size: 4 * MIB, chunkSize: MIB, blobSize: 900, blobSha256: SHA, rawSha256: SHA };
  const chunk = (index: number) => ({
    index,
    offset: index * 100,
    length: 100,
    storedSha256: SHA,
    rawSha256: SHA,
  });
  const table = ChunkTable.fromManifest(decodeManifest(encodeManifest(facts, [chunk(1), chunk(2)])));
  table.states.set([STATE.checkZero, STATE.check, STATE.check, STATE.checkZero]);
  const { close: _, ...target } = disk.target;
  const task: ChunkTask = {
    table: table.memory,
    target,
    sources: [],
    etags: {},
    transport: {},
    retry: {},
    targetIsZero: false,
    spans: planSpans(table, 'check', 1),
    cursor: new SharedArrayBuffer(4),
    figures: Figures.forWorkers(1).memory,
    phase: 'check',
    workerIndex: 0,
  };
  await new ChunkWorker(task, () => {}).run();
  expect([...table.states.subarray(1)]).toEqual([STATE.fetch, STATE.fetch, STATE.zero]);
});

test('what cannot be read back has the code of what is read back wrong', async () => {
  using disk = unreadableDisk();
  const block = { position: MIB, length: 4096, sha256: Buffer.alloc(32) };
  await expect(readBack(disk.target, [block], Withheld.of(disk.target), () => {})).rejects.toMatchObject({
    code: 'KND_DISK_READBACK',
  });
});
