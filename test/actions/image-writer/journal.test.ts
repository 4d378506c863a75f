import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ChunkTable } from '../../../actions/image-writer/chunks/chunk-table.ts';
import { ChunkJournal, readJournal } from '../../../actions/image-writer/chunks/journal.ts';
import type { Target } from '../../../actions/image-writer/target/target.ts';
import { decodeManifest, encodeManifest } from '../../../formats/image-manifest.ts';

const MIB = 1024 * 1024;
const SHA = 'a'.repeat(64);
const ROOT = 'b'.repeat(64);

test('a disk that does not take the journal, or does not give it back, is no reason to stop', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-journal-'));
  const path = join(folder, 'disk');
  writeFileSync(path, Buffer.alloc(4 * MIB));
  const facts = { size: 4 * MIB, chunkSize: MIB, blobSize: 9, blobSha256: SHA, rawSha256: SHA };
  const table = ChunkTable.fromManifest(decodeManifest(encodeManifest(facts, [])));
  const [readOnly, writeOnly] = [openSync(path, 'r'), openSync(path, 'a')];
  const targetWith = (fd: number): Target => ({
    path,
    size: 4 * MIB,
    sectorSize: 512,
    isBlockDevice: false,
    isDirect: false,
    fd,
    bufferedFd: fd,
    close: () => {},
  });
  const journal = new ChunkJournal(targetWith(readOnly), table, ROOT, 0, 5);
  await expect(journal.save()).rejects.toMatchObject({ code: 'KND_DISK_WRITE' }); // the first one is asked for, and its failure is told
  await delay(50); // a rejection that nobody handles would fail this test
  await journal.stop();
  expect(readJournal(targetWith(writeOnly), ROOT, table.count)).toBeUndefined();
  closeSync(readOnly);
  closeSync(writeOnly);
  rmSync(folder, { recursive: true });
});
