import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { writeImage } from '../../../../actions/image-writer/index.ts';
import type { KindlingError } from '../../../../protocol/error.ts';
import { type ImageServer, startImageServer } from '../image-server.ts';
import { makeDiskImage } from '../test-image.ts';
import { xz } from './decode-xz.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(5 * MIB);
const FILTERED = xz(RAW, '--x86', '--lzma2=preset=0');

let folder: string;
let server: ImageServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-image-'));
  server = await startImageServer({});
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

async function write(bytes: Buffer) {
  server.files.set('/image', { bytes });
  const target = join(folder, 'disk');
  writeFileSync(target, Buffer.alloc(RAW.length, 0xaa));
  const said: string[] = [];
  const error = await writeImage(
    { sources: [`${server.url}/image`], target, retry: { windowMs: 900 } },
    { log: (_, line) => said.push(line) },
  ).then(
    () => undefined,
    (thrown: KindlingError) => thrown,
  );
  return { error, said: said.join('\n'), disk: readFileSync(target) };
}

// our own decoder has LZMA2 and nothing else
describe.each([
  ['the library', undefined],
  ['the program', '1'],
])('an xz image with filters is decompressed by %s:', (name, noFfi) => {
  beforeEach(() => {
    if (noFfi) process.env['KINDLING_NO_FFI'] = noFfi;
  });
  afterEach(() => {
    delete process.env['KINDLING_NO_FFI'];
  });

  test('it is written bit for bit', async () => {
    const { error, said, disk } = await write(FILTERED);
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
    expect(said.includes('is decompressed by')).toBe(name === 'the program');
  });

  test('several streams are one image', async () => {
    const half = 2 * MIB;
    const parts = [RAW.subarray(0, half), RAW.subarray(half)];
    const { error, disk } = await write(
      Buffer.concat(parts.map((part) => xz(part, '--x86', '--lzma2=preset=0'))),
    );
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
  });

  test('cut off it is truncated, damaged it is corrupt', async () => {
    const cut = await write(FILTERED.subarray(0, FILTERED.length / 2));
    expect(cut.error?.code).toBe('KND_IMAGE_TRUNCATED');
    const bad = Buffer.from(FILTERED);
    const middle = Math.floor(bad.length / 2);
    bad[middle] = (bad[middle] ?? 0) ^ 1;
    expect((await write(bad)).error?.code).toBe('KND_IMAGE_CORRUPT');
    const longer = await write(Buffer.concat([FILTERED, Buffer.from('junk behind the end')]));
    expect(longer.error?.code).toBe('KND_IMAGE_CORRUPT');
  });
});
