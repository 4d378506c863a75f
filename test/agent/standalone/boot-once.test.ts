import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { decodeBootOnce, encodeBootOnce, setBootOnce } from '../../../agent/standalone/boot-once.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindling-boot-once-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** An empty vector as syslinux 6.04 installs it. */
const EMPTY = Buffer.alloc(512);
EMPTY.write('a52f2d5a671704a3', 'hex');
EMPTY.write('64bf28dd', 508, 'hex');

test('a command is read back; a damaged vector holds none', () => {
  const vector = encodeBootOnce('disk guid=1');
  expect(decodeBootOnce(vector)).toBe('disk guid=1');
  expect(decodeBootOnce(EMPTY)).toBeUndefined();
  vector[20] = 0xff;
  expect(decodeBootOnce(vector)).toBeUndefined();
  expect(() => encodeBootOnce('x'.repeat(256))).toThrow(/too long/);
});

test('both copies at the end of the loader are set, and nothing else of it', async () => {
  const loader = join(folder, 'ldlinux.sys');
  const program = Buffer.alloc(3000, 'program');
  writeFileSync(loader, Buffer.concat([program, EMPTY, EMPTY]));
  await setBootOnce(loader, 'disk mbr=0x12345678');
  const written = readFileSync(loader);
  expect(written.subarray(0, 3000).equals(program)).toBe(true);
  expect(decodeBootOnce(written.subarray(3000, 3512))).toBe('disk mbr=0x12345678');
  expect(decodeBootOnce(written.subarray(3512))).toBe('disk mbr=0x12345678');
});

test('a file that is no loader of syslinux is left as it is', async () => {
  const other = join(folder, 'other');
  writeFileSync(other, Buffer.alloc(2048, 1));
  await expect(setBootOnce(other, 'disk')).rejects.toMatchObject({ code: 'KND_STICK_INVALID' });
  expect(readFileSync(other).every((byte) => byte === 1)).toBe(true);
});
