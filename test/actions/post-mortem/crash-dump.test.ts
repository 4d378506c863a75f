import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readCrashDump, removeCrashDump } from '../../../actions/post-mortem/crash-dump.ts';

const GUID = 'cfc8fc79-be2e-4ddc-97f0-9f98bfe298a0';
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'kindling-pstore-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function keep(part: number, time: number, flag: 'C' | 'D', content: Buffer): void {
  const name = `dump-type0-${part}-1-${time}-${flag}-${GUID}`;
  writeFileSync(path.join(folder, name), Buffer.concat([Buffer.from([7, 0, 0, 0]), content]));
}

describe('the last words of a kernel', () => {
  it('are put together from their parts, of the newest crash only, compressed or not', async () => {
    keep(1, 200, 'D', Buffer.from('Panic#1 Part1\nthe end'));
    keep(2, 200, 'C', deflateRawSync(Buffer.from('Panic#1 Part2\nthe beginning')));
    keep(1, 100, 'D', Buffer.from('an older crash'));
    writeFileSync(path.join(folder, 'BootOrder-8be4df61-93ca-11d2-aa0d-00e098032b8c'), 'x');
    const { text, files } = await readCrashDump(folder);
    expect(text).toBe('Panic#1 Part2\nthe beginning\nPanic#1 Part1\nthe end');
    await removeCrashDump(files);
    expect(readdirSync(folder)).toEqual(['BootOrder-8be4df61-93ca-11d2-aa0d-00e098032b8c']);
  });

  it('are empty where nothing crashed, or what is there cannot be read', async () => {
    expect(await readCrashDump(path.join(folder, 'nowhere'))).toEqual({ text: '', files: [] });
    keep(1, 100, 'C', Buffer.from([1, 2, 3]));
    expect((await readCrashDump(folder)).text).toBe('');
  });
});
