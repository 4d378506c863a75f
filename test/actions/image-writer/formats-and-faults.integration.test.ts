import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ImageFormat,
  type WriteImageRequest,
  type WriteProgress,
  writeImage,
} from '../../../actions/image-writer/index.ts';
import type { KindlingError } from '../../../protocol/error.ts';
import { imageSignatureText } from '../../../protocol/image-signature.ts';
import { type ImageServer, type ServedFile, startImageServer } from './image-server.ts';
import { convertToQcow2, encodeFirstMember, encodeImage, makeDiskImage } from './test-image.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(9 * MIB + 512 * 8);
/** An isohybrid image: an ISO 9660 descriptor in a disk with a partition table. */
const ISO = Buffer.from(RAW);
ISO.write('\x01CD001\x01', 32_768, 'latin1');
const FORMATS: readonly ImageFormat[] = ['raw', 'iso', 'gz', 'bz2', 'xz', 'zst', 'qcow2'];
const rawOf = (format: ImageFormat) => (format === 'iso' ? ISO : RAW);
const FILES = new Map(FORMATS.map((format) => [format, encodeImage(rawOf(format), format)]));
const fileOf = (format: ImageFormat) => FILES.get(format) ?? Buffer.alloc(0);
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

let folder: string;
let server: ImageServer;
let serial = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-image-'));
  server = await startImageServer({});
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** Serves one file, writes it onto a target full of old data, and gives what the target holds then. */
async function write(file: ServedFile, request: Partial<WriteImageRequest> = {}, targetBytes = RAW.length) {
  serial += 1;
  const path = `/${serial}.img`;
  server.files.set(path, file);
  const target = join(folder, `${serial}.disk`);
  writeFileSync(target, Buffer.alloc(targetBytes, 0xaa));
  const outcome = await writeImage({
    sources: [`${server.url}${path}`],
    target,
    retry: { windowMs: 900 },
    ...request,
  }).then(
    (result) => ({ result, error: undefined }),
    (error: KindlingError) => ({ result: undefined, error }),
  );
  const disk = readFileSync(target);
  rmSync(target);
  return { ...outcome, disk, path };
}

/** No boot sector, no table, and no backup table at the end. */
function expectUnbootable(disk: Buffer) {
  expect(disk.subarray(0, MIB).every((byte) => byte === 0)).toBe(true);
  expect(disk.subarray(-512).includes('EFI PART')).toBe(false);
}

/** Formats that cannot tell a flipped bit themselves. */
const HAS_NO_CHECKSUM: readonly ImageFormat[] = ['raw', 'iso', 'qcow2'];

describe.concurrent.each(FORMATS)('a %s image', (format) => {
  const file = fileOf(format);
  const half = Math.floor(file.length / 2);

  test('is recognized by its bytes and written bit for bit over old data', async () => {
    const { result, disk, error } = await write(
      { bytes: file },
      { expected: { sha256: sha256(file), length: file.length }, readBack: 'all' },
    );
    expect(error).toBeUndefined();
    expect(disk.equals(rawOf(format))).toBe(true);
    expect(result).toMatchObject({ format, sha256: sha256(file), resumes: 0 });
    expect(result?.closingLine).toMatch(/^9 MiB in .* s, \d+ MB\/s; limited by /);
  });

  test('goes on where the connection broke, by Range', async () => {
    const { result, disk, path, error } = await write({
      bytes: file,
      fault: { kind: 'cut', at: half, times: 1 },
    });
    expect(error).toBeUndefined();
    expect(disk.equals(rawOf(format))).toBe(true);
    expect(result?.resumes).toBe(1);
    const continued = server.requests.filter(
      (line) => line.startsWith(`${path} bytes=`) && line.endsWith('-'),
    );
    expect(continued).toHaveLength(1);
  });

  test('starts the download again where the server has no ranges', async () => {
    if (format === 'qcow2') return; // has a test of its own: it needs ranges
    const { result, disk, error } = await write({
      bytes: file,
      hasRanges: false,
      fault: { kind: 'cut', at: half, times: 1 },
    });
    expect(error).toBeUndefined();
    expect(disk.equals(rawOf(format))).toBe(true);
    expect(result?.resumes).toBe(1);
  });

  const faults: [string, Partial<ServedFile>, string, Partial<WriteImageRequest>?][] = [
    ['a file that is cut off', { bytes: file.subarray(0, half + 7) }, 'KND_IMAGE_TRUNCATED'],
    [
      'a length header that promises too much',
      { fault: { kind: 'length', announced: file.length + 999 } },
      'KND_IMAGE_LENGTH',
    ],
    [
      'a length header that promises too little',
      { fault: { kind: 'length', announced: file.length - 70_000 } }, // more than a qcow2 cluster
      'KND_IMAGE_TRUNCATED',
    ],
    ['a length header that is no number', { headers: { 'content-length': '12, 13' } }, 'KND_IMAGE_LENGTH'],
    [
      'a connection that drips',
      { fault: { kind: 'drip', at: half } },
      'KND_IMAGE_STALLED',
      { transport: { stallTimeoutMs: 250 } },
    ],
    [
      'a redirect in circles after a cut',
      { fault: { kind: 'redirect-after-cut', at: half, to: '' } },
      'KND_IMAGE_REDIRECT',
    ],
    ['500 after a cut', { fault: { kind: 'error-after-cut', at: half } }, 'KND_IMAGE_SERVER_ERROR'],
    ['another ETag after a cut', { fault: { kind: 'etag-change', at: half } }, 'KND_IMAGE_CHANGED'],
  ];
  test.each(faults)('%s has its own code and leaves nothing bootable', async (_, fault, code, request) => {
    const { error, disk } = await write({ bytes: file, ...fault }, request, RAW.length + MIB);
    expect(error?.code).toBe(code);
    expectUnbootableOrUntouched(disk);
  });

  test('one flipped bit is found, whatever the format can check itself', async () => {
    const bytes = Buffer.from(file);
    const at = format === 'qcow2' ? file.length - 70_000 : half;
    bytes[at] = (bytes[at] ?? 0) ^ 0x10;
    const { error, disk } = await write({ bytes }, { expected: { sha256: sha256(file) } });
    expect(error?.code).toBe(HAS_NO_CHECKSUM.includes(format) ? 'KND_IMAGE_HASH' : 'KND_IMAGE_CORRUPT');
    expectUnbootableOrUntouched(disk);
  });

  test('too small a disk is found before anything is written', async () => {
    const { error, disk } = await write({ bytes: file }, {}, RAW.length - 4096);
    expect(error?.code).toBe('KND_IMAGE_TOO_LARGE');
    expect(disk.every((byte) => byte === 0xaa)).toBe(true);
  });
});

describe.concurrent.each(['gz', 'bz2', 'xz', 'zst'] as const)('a %s image of several members', (format) => {
  test('that ends after the first of them is truncated, though every member is whole', async () => {
    const first = encodeFirstMember(RAW, format);
    expect(fileOf(format).subarray(0, first.length).equals(first)).toBe(true);
    const { error, disk } = await write({ bytes: first });
    expect(error?.code).toBe('KND_IMAGE_TRUNCATED');
    expectUnbootable(disk);
  });

  test('whose second one has a flipped bit in its first bytes is damaged, also where no partition table says how long it is', async () => {
    const plain = Buffer.from(RAW);
    plain.fill(0, 0, MIB);
    const file = encodeImage(plain, format);
    expect((await write({ bytes: file })).error).toBeUndefined();
    const second = encodeFirstMember(plain, format).length;
    for (const place of [second, second + 2]) {
      const bad = Buffer.from(file);
      bad[place] = (bad[place] ?? 0) ^ 0x10;
      const { error, disk } = await write({ bytes: bad });
      expect(error?.code).toBe('KND_IMAGE_CORRUPT');
      expectUnbootableOrUntouched(disk);
    }
  });

  test('with something behind the last of them is damaged', async () => {
    const { error, disk } = await write({
      bytes: Buffer.concat([fileOf(format), Buffer.from('<html>'.repeat(50))]),
    });
    expect(error?.code).toBe('KND_IMAGE_CORRUPT');
    expectUnbootableOrUntouched(disk);
  });
});

test('an ISO without a partition table that is cut off is truncated, and too small a disk is found first', async () => {
  const plain = Buffer.from(ISO);
  plain.fill(0, 0, 32_768);
  plain.fill(0, plain.length - 64 * 1024);
  plain.writeUInt32LE(plain.length / 2048, 32_768 + 80);
  plain.writeUInt16LE(2048, 32_768 + 128);
  const whole = await write({ bytes: plain });
  expect(whole.result?.format).toBe('iso');
  expect(whole.disk.equals(plain)).toBe(true);
  const cut = await write({ bytes: plain.subarray(0, 5 * MIB) });
  expect(cut.error?.code).toBe('KND_IMAGE_TRUNCATED');
  const small = await write({ bytes: encodeImage(plain, 'gz') }, {}, RAW.length - 4096);
  expect(small.error?.code).toBe('KND_IMAGE_TOO_LARGE');
  expect(small.disk.every((byte) => byte === 0xaa)).toBe(true);
});

/** A fault that shows before the first MiB is decoded leaves the disk as it was; any other leaves it unbootable. */
function expectUnbootableOrUntouched(disk: Buffer) {
  if (!disk.every((byte) => byte === 0xaa)) expectUnbootable(disk);
}

describe.concurrent('verification', () => {
  test.each([
    ['sha256 of the file', { sha256: '0'.repeat(64) }, 'KND_IMAGE_HASH'],
    ['sha512 of the file', { sha512: '0'.repeat(128) }, 'KND_IMAGE_HASH'],
    ['sha256 of the raw image', { rawSha256: '0'.repeat(64) }, 'KND_IMAGE_HASH'],
    ['length of the file', { length: 5 }, 'KND_IMAGE_LENGTH'],
    ['raw length', { rawLength: 5 }, 'KND_IMAGE_LENGTH'],
  ] as const)('a wrong %s leaves nothing bootable', async (_, expected, code) => {
    const { error, disk } = await write({ bytes: RAW }, { expected });
    expect(error?.code).toBe(code);
    expectUnbootableOrUntouched(disk);
  });

  test.each(['zst', 'qcow2', 'xz'] as const)('the raw hash of a %s image is checked', async (format) => {
    const { error, disk } = await write(
      { bytes: fileOf(format) },
      { expected: { rawSha256: sha256(RAW), rawLength: RAW.length } },
    );
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
  });

  test.each([
    ['compressed, but is raw', 'raw', { compressed: true }],
    ['not compressed, but is gz', 'gz', { compressed: false }],
    ['xz, but is zst', 'zst', { format: 'xz' }],
  ] as const)('a request that says %s is told so before anything is written', async (_, format, expected) => {
    const { error, disk } = await write({ bytes: fileOf(format) }, { expected });
    expect(error?.code).toBe('KND_IMAGE_CONTRADICTION');
    expect(disk.every((byte) => byte === 0xaa)).toBe(true);
  });

  test('a page that a portal sends instead of the image never reaches the disk', async () => {
    const page = Buffer.from('<!doctype html><title>Please log in</title>'.repeat(100));
    const { error, disk } = await write({ bytes: page, headers: { 'content-type': 'text/html' } });
    expect(error?.code).toBe('KND_IMAGE_CONTRADICTION');
    expect(error?.message).toContain('text/html');
    expect(disk.every((byte) => byte === 0xaa)).toBe(true);
  });

  test('a name that the bytes contradict is told before anything is written; the query does not count', async () => {
    for (const [name, code] of [
      ['/named.xz?as=.zst', 'KND_IMAGE_CONTRADICTION'],
      ['/named.zst?as=.xz', undefined],
    ] as const) {
      server.files.set(name.split('?')[0] ?? '', { bytes: fileOf('zst') });
      const { error, disk } = await write({ bytes: RAW }, { sources: [`${server.url}${name}`] });
      expect(error?.code).toBe(code);
      expect(disk.equals(code ? Buffer.alloc(RAW.length, 0xaa) : RAW)).toBe(true);
    }
  });

  test('a raw length that does not fit the disk is found before anything is written', async () => {
    const noTable = Buffer.from(RAW);
    noTable.fill(0, 0, MIB);
    const bytes = encodeImage(noTable, 'zst');
    const { error, disk } = await write(
      { bytes },
      { expected: { rawLength: RAW.length } },
      RAW.length - 4096,
    );
    expect(error?.code).toBe('KND_IMAGE_TOO_LARGE');
    expect(disk.every((byte) => byte === 0xaa)).toBe(true);
  });

  test('compressed data without any end, and without a table that says how much there is, is refused', async () => {
    const noTable = Buffer.from(RAW);
    noTable.fill(0, 0, MIB);
    const endless = (bytes: Buffer): ServedFile => ({
      bytes,
      handle: (_, response) => {
        response.useChunkedEncodingByDefault = false;
        response.writeHead(200, { connection: 'close' }).end(bytes);
        return true;
      },
    });
    const first = encodeFirstMember(noTable, 'gz');
    const refused = await write(endless(first));
    expect(refused.error?.code).toBe('KND_IMAGE_END_UNKNOWN');
    expect(refused.disk.every((byte) => byte === 0xaa)).toBe(true);
    expect((await write(endless(fileOf('gz')))).disk.equals(RAW)).toBe(true);
  });

  test.each([
    ['features nobody knows', (file: Buffer) => file.writeUInt8(0x80, 72), 'KND_IMAGE_UNSUPPORTED'],
    ['a table beyond its end', (file: Buffer) => file.writeUInt8(0x7f, 43), 'KND_IMAGE_TRUNCATED'],
  ] as const)('qcow2 with %s is refused untouched', async (_, change, code) => {
    const bytes = Buffer.from(fileOf('qcow2'));
    change(bytes);
    const { error, disk } = await write({ bytes });
    expect(error?.code).toBe(code);
    expect(disk.every((byte) => byte === 0xaa)).toBe(true);
  });

  test('qcow2 with clusters of every size: those that share a page are refused, the others are right', async () => {
    for (const size of ['512', '2048', '4096', '2M']) {
      const { error, disk } = await write({
        bytes: convertToQcow2(RAW, ['-c', '-o', `cluster_size=${size}`]),
      });
      expect(error?.code, size).toBe(size === '512' || size === '2048' ? 'KND_IMAGE_UNSUPPORTED' : undefined);
      if (!error) expect(disk.equals(RAW), size).toBe(true);
    }
  });

  test('a Content-Encoding the bytes do not have is a contradiction', async () => {
    const { error } = await write({ bytes: RAW, headers: { 'content-encoding': 'gzip' } });
    expect(error?.code).toBe('KND_IMAGE_CONTRADICTION');
  });

  test('chunked transfer has an end of its own; a raw body without any end is refused', async () => {
    const chunked = await write({ bytes: RAW, fault: { kind: 'no-length' } });
    expect(chunked.disk.equals(RAW)).toBe(true);
    const endless: ServedFile = {
      bytes: RAW,
      handle: (_, response) => {
        response.useChunkedEncodingByDefault = false;
        response.writeHead(200, { connection: 'close' }).end(RAW);
        return true;
      },
    };
    const refused = await write(endless);
    expect(refused.error?.code).toBe('KND_IMAGE_END_UNKNOWN');
    expect(refused.disk.every((byte) => byte === 0xaa)).toBe(true);
    const allowed = await write(endless, { expected: { allowsUnknownEnd: true } });
    expect(allowed.disk.equals(RAW)).toBe(true);
  });

  test('a raw image that the server compresses on the way is decoded, and its own hash is that of the file', async () => {
    const packed = { bytes: fileOf('gz'), headers: { 'content-encoding': 'gzip' } };
    const expected = { compressed: false, sha256: sha256(RAW), length: RAW.length };
    const { error, disk } = await write(packed, { expected });
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
    const byAnswer = await write(packed, { expected: { sha256: sha256(packed.bytes) } });
    expect(byAnswer.disk.equals(RAW)).toBe(true);
    const other = await write(packed, { expected: { sha256: sha256(ISO) } });
    expect(other.error?.code).toBe('KND_IMAGE_HASH');
    expectUnbootable(other.disk);
  });

  test('an image inside two wrappers is refused untouched', async () => {
    const nested = await write({ bytes: encodeImage(fileOf('qcow2'), 'zst') });
    expect(nested.error?.code).toBe('KND_IMAGE_UNSUPPORTED');
    expect(nested.disk.every((byte) => byte === 0xaa)).toBe(true);
  });

  test('qcow2 with compressed clusters of both kinds', async () => {
    for (const options of [['-c'], ['-c', '-o', 'compression_type=zstd'], ['-o', 'compat=0.10']]) {
      const { error, disk } = await write({ bytes: convertToQcow2(RAW, options) });
      expect(error).toBeUndefined();
      expect(disk.equals(RAW)).toBe(true);
    }
  });

  test('qcow2 from a server without ranges says what is missing', async () => {
    const { error } = await write({ bytes: fileOf('qcow2'), hasRanges: false });
    expect(error?.code).toBe('KND_IMAGE_NEEDS_RANGES');
  });

  test('the check of the planned target comes last and stops everything', async () => {
    server.files.set('/plan', { bytes: RAW });
    const target = join(folder, 'plan.disk');
    writeFileSync(target, Buffer.alloc(RAW.length, 0xaa));
    const refused = writeImage(
      { sources: [`${server.url}/plan`], target },
      { checkTarget: () => Promise.reject(new Error('another disk')) },
    );
    await expect(refused).rejects.toThrow('another disk');
    expect(readFileSync(target).every((byte) => byte === 0xaa)).toBe(true);
  });
});

describe.concurrent('a signature', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const pem = (key: KeyObject) => String(key.export({ type: 'spki', format: 'pem' }));
  const signers = [pem(publicKey)];
  const signature = (bytes: Buffer, key = privateKey) =>
    Buffer.from(sign(null, Buffer.from(imageSignatureText(sha256(bytes))), key).toString('base64'));
  const signed = async (
    name: string,
    file: ServedFile | undefined,
    request: Partial<WriteImageRequest> = {},
  ) => {
    server.files.set(`/${name}`, { bytes: fileOf('zst') });
    if (file) server.files.set(`/${name}.sig`, file);
    return write({ bytes: RAW }, { sources: [`${server.url}/${name}`], expected: { signers }, ...request });
  };

  test('by a trusted key is enough; its server may fail at first', async () => {
    let failures = 2;
    const { error, disk } = await signed(
      'late.zst',
      {
        bytes: signature(fileOf('zst')),
        handle: (_, response) => {
          failures -= 1;
          if (failures >= 0) response.writeHead(503).end('busy');
          return failures >= 0;
        },
      },
      { retry: { windowMs: 20_000 } },
    );
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
  });

  test('that is missing is found before anything is written', async () => {
    const { error, disk } = await signed('unsigned.zst', undefined);
    expect(error?.code).toBe('KND_IMAGE_SIGNATURE');
    expect(disk.every((byte) => byte === 0xaa)).toBe(true);
  });

  test('of another file, or by another key, leaves nothing bootable', async () => {
    const stranger = generateKeyPairSync('ed25519').privateKey;
    for (const [name, bytes] of [
      ['other-file.zst', signature(RAW)],
      ['other-key.zst', signature(fileOf('zst'), stranger)],
      ['noise.zst', Buffer.from('no signature')],
    ] as const) {
      const { error, disk } = await signed(name, { bytes });
      expect(error?.code, name).toBe('KND_IMAGE_SIGNATURE');
      expectUnbootable(disk);
    }
  });
});

test('progress never goes back, has its figures, and ends with 100 after the read-back', async () => {
  const bytes = encodeImage(makeDiskImage(160 * MIB, 5), 'zst');
  server.files.set('/progress', { bytes });
  const target = join(folder, 'progress.disk');
  writeFileSync(target, Buffer.alloc(160 * MIB, 0xaa));
  const seen: WriteProgress[] = [];
  await writeImage(
    { sources: [`${server.url}/progress`], target, readBack: 'all' },
    { onProgress: (progress) => seen.push(progress) },
  );
  rmSync(target);
  const percents = seen.map(({ percent }) => percent ?? 0);
  expect(percents).toEqual(percents.toSorted((a, b) => a - b));
  expect(percents.at(-1)).toBe(100);
  expect(seen.map(({ phase }) => phase)).toContain('syncing');
  expect(seen.at(-1)).toMatchObject({ phase: 'done', bytesFetched: bytes.length, bytesRaw: 160 * MIB });
});

test('a stall that takes longer than the retry window to be noticed is asked about once more', async () => {
  let visits = 0;
  const { result, error, disk } = await write(
    {
      bytes: RAW,
      handle: (_, response) => {
        visits += 1;
        if (visits > 1) return false;
        response.writeHead(200, { 'accept-ranges': 'bytes', 'content-length': RAW.length });
        response.write(RAW.subarray(0, MIB));
        return true;
      },
    },
    { retry: { windowMs: 900 }, transport: { stallTimeoutMs: 2000 } },
  );
  expect(error).toBeUndefined();
  expect(result?.resumes).toBe(1);
  expect(disk.equals(RAW)).toBe(true);
});

describe('a target larger than the image', () => {
  test('gets its backup table at its end, and the primary names it', async () => {
    const size = RAW.length + 5 * MIB;
    const { result, disk } = await write({ bytes: RAW }, {}, size);
    expect(result?.gptMoved).toBe(true);
    const lastLba = BigInt(size / 512 - 1);
    expect(disk.readBigUInt64LE(512 + 32)).toBe(lastLba);
    expect(disk.toString('latin1', size - 512, size - 504)).toBe('EFI PART');
    expect(disk.subarray(MIB, RAW.length).equals(RAW.subarray(MIB))).toBe(true);
  });
});

describe.concurrent('the way to the image', () => {
  test('mirrors are tried in turn', async () => {
    server.files.set('/good', { bytes: RAW });
    const { disk, result } = await write(
      { bytes: RAW },
      {
        sources: [`${server.url}/missing`, 'http://127.0.0.1:1/none', `${server.url}/good`],
        retry: { windowMs: 5000 },
      },
    );
    expect(disk.equals(RAW)).toBe(true);
    expect(result?.source).toBe(`${server.url}/good`);
  });

  test('a mirror that has an older file, or none, does not stop the others, even if nothing is tried twice', async () => {
    server.files.set('/stale', { bytes: RAW.subarray(0, RAW.length - 4096) });
    server.files.set('/fresh', { bytes: RAW });
    const { disk, error } = await write(
      { bytes: RAW },
      {
        sources: ['/stale', '/none', '/fresh'].map((path) => `${server.url}${path}`),
        expected: { length: RAW.length },
        retry: { isEnabled: false },
      },
    );
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
  });

  test('a file without a tag that has another date after a cut has changed', async () => {
    let visits = 0;
    const startedAt = performance.now();
    const { error } = await write(
      {
        bytes: RAW,
        handle: (request, response) => {
          visits += 1;
          const start = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
          response.writeHead(start > 0 ? 206 : 200, {
            'accept-ranges': 'bytes',
            'last-modified': `Mon, 16 Nov 2026 10:00:0${Math.min(visits, 9)} GMT`,
            'content-length': RAW.length - start,
            ...(start > 0 ? { 'content-range': `bytes ${start}-${RAW.length - 1}/${RAW.length}` } : {}),
          });
          response.write(RAW.subarray(start, start + MIB), () => response.destroy());
          return true;
        },
      },
      { retry: { windowMs: 60_000 } },
    );
    expect(error?.code).toBe('KND_IMAGE_CHANGED');
    expect(performance.now() - startedAt).toBeLessThan(50_000);
  });

  test('a server that announces ranges and starts again all the same is believed by its tag', async () => {
    let visits = 0;
    const { result, disk } = await write(
      {
        bytes: RAW,
        handle: (_, response) => {
          visits += 1;
          const head = { etag: '"strong"', 'accept-ranges': 'bytes', 'content-length': RAW.length };
          response.writeHead(200, head);
          if (visits === 1) response.write(RAW.subarray(0, 3 * MIB), () => response.destroy());
          else response.end(RAW);
          return true;
        },
      },
      { retry: { windowMs: 20_000 } },
    );
    expect(result?.resumes).toBe(1);
    expect(disk.equals(RAW)).toBe(true);
  });

  test('chunked transfer that is cut after the last byte is whole when the server says so', async () => {
    const { error, disk } = await write(
      {
        bytes: RAW,
        handle: (request, response) => {
          if (request.headers.range) return false;
          response.writeHead(200, { 'accept-ranges': 'bytes' });
          response.write(RAW, () => setTimeout(() => response.destroy(), 100));
          return true;
        },
      },
      { retry: { windowMs: 20_000 } },
    );
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
  });

  test('chunked transfer whose chunks are longer than they say goes on from the last good byte', async () => {
    const { error, disk } = await write(
      {
        bytes: RAW,
        handle: (request, response) => {
          if (request.headers.range) return false;
          const size = (MIB - 7).toString(16);
          response.socket?.end(
            Buffer.concat([
              Buffer.from(
                `HTTP/1.1 200 OK\r\naccept-ranges: bytes\r\ntransfer-encoding: chunked\r\n\r\n${size}\r\n`,
              ),
              RAW.subarray(0, MIB),
              Buffer.from('\r\n0\r\n\r\n'),
            ]),
          );
          return true;
        },
      },
      { retry: { windowMs: 20_000 } },
    );
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
  });

  test('a redirect in the middle, to another host that has the same file, is followed', async () => {
    await using other = await startImageServer({ '/moved': { bytes: RAW } });
    let visits = 0;
    const { result, disk } = await write(
      {
        bytes: RAW,
        handle: (_, response) => {
          visits += 1;
          if (visits === 1) {
            const etag = `"${createHash('md5').update(RAW).digest('hex')}"`;
            response.writeHead(200, { etag, 'accept-ranges': 'bytes', 'content-length': RAW.length });
            response.write(RAW.subarray(0, 3 * MIB), () => response.destroy());
          } else {
            response.writeHead(307, { location: `${other.url}/moved` }).end();
          }
          return true;
        },
      },
      { retry: { windowMs: 20_000 } },
    );
    expect(disk.equals(RAW)).toBe(true);
    expect(result?.resumes).toBe(1);
    expect(other.requests.some((line) => line.startsWith('/moved bytes='))).toBe(true);
  });

  test('credentials stay with the host they were given for', async () => {
    const seen: string[] = [];
    const note =
      (name: string): NonNullable<ServedFile['handle']> =>
      (request) => {
        seen.push(
          `${name} ${request.headers.authorization ?? 'none'} ${request.headers['x-site'] ?? 'none'}`,
        );
        return false;
      };
    await using other = await startImageServer({ '/elsewhere': { bytes: RAW, handle: note('elsewhere') } });
    server.files.set('/here-again', {
      bytes: RAW,
      handle: (request, response) => {
        note('again')(request, response);
        response.writeHead(302, { location: `${other.url}/elsewhere` }).end();
        return true;
      },
    });
    server.files.set('/with-login', {
      bytes: RAW,
      handle: (request, response) => {
        note('first')(request, response);
        response.writeHead(302, { location: `${server.url}/here-again` }).end();
        return true;
      },
    });
    const login = `${server.url}/with-login`.replace('://', '://user:secret@');
    const { disk } = await write(
      { bytes: RAW },
      { sources: [login], transport: { headers: { 'x-site': 'berlin' } } },
    );
    const basic = `Basic ${Buffer.from('user:secret').toString('base64')}`;
    expect(disk.equals(RAW)).toBe(true);
    expect(seen).toEqual([`first ${basic} berlin`, `again ${basic} berlin`, 'elsewhere none none']);
  });

  test.each(['ftp://files.test/disk', 'http://[', 'file:///etc/passwd'])(
    'a redirect to %s is refused as one',
    async (location) => {
      const { error } = await write({
        bytes: RAW,
        handle: (_, response) => {
          response.writeHead(302, { location }).end();
          return true;
        },
      });
      expect(error?.code).toBe('KND_IMAGE_REDIRECT');
    },
  );

  test('neither password nor key of an address is in an error', async () => {
    const source = `${server.url}/gone?X-Amz-Signature=key`.replace('://', '://user:secret@');
    const { error } = await write({ bytes: RAW }, { sources: [source] });
    expect(error?.code).toBe('KND_IMAGE_NOT_FOUND');
    expect(error?.message).not.toMatch(/secret|Signature|key/);
  });

  test.each([
    ['404', 404, 'KND_IMAGE_NOT_FOUND'],
    ['403', 403, 'KND_IMAGE_REFUSED'],
    ['503', 503, 'KND_IMAGE_SERVER_ERROR'],
  ] as const)('%s has its own code', async (_, status, code) => {
    const { error } = await write({
      bytes: RAW,
      handle: (_, response) => {
        response.writeHead(status).end('no');
        return true;
      },
    });
    expect(error?.code).toBe(code);
  });

  test('the tables of a qcow2 image are asked for within the retry window, like the image', async () => {
    let refusals = 5;
    const { disk, error } = await write(
      {
        bytes: fileOf('qcow2'),
        handle: (request, response) => {
          if (request.headers.range === undefined || refusals === 0) return false;
          refusals -= 1;
          response.writeHead(503).end('restarting');
          return true;
        },
      },
      { retry: { windowMs: 60_000 } },
    );
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
  });

  test.each([404, 410, 403, 401])(
    'an image that comes after a %s, within the retry window, is written',
    async (status) => {
      let refusals = 3;
      const { disk, error } = await write(
        {
          bytes: RAW,
          handle: (_, response) => {
            if (refusals === 0) return false;
            refusals -= 1;
            response.writeHead(status).end('not yet');
            return true;
          },
        },
        { retry: { windowMs: 20_000 } },
      );
      expect(error).toBeUndefined();
      expect(disk.equals(RAW)).toBe(true);
    },
  );

  test('without retries a 404 is told after one question to each source', async () => {
    let questions = 0;
    const { error } = await write(
      {
        bytes: RAW,
        handle: (_, response) => {
          questions += 1;
          response.writeHead(404).end('no');
          return true;
        },
      },
      { retry: { isEnabled: false } },
    );
    expect(error?.code).toBe('KND_IMAGE_NOT_FOUND');
    expect(questions).toBe(1);
  });

  test('a server that is not there is unreachable', async () => {
    const { error } = await write({ bytes: RAW }, { sources: ['http://127.0.0.1:1/x'] });
    expect(error?.code).toBe('KND_IMAGE_UNREACHABLE');
  });

  test('query strings, redirects, credentials and headers arrive where they belong', async () => {
    const seen: string[] = [];
    server.files.set('/landing', {
      bytes: RAW,
      handle: (request) => {
        seen.push(`${request.url} ${request.headers.authorization} ${request.headers['x-site']}`);
        return false;
      },
    });
    const { disk } = await write(
      {
        bytes: RAW,
        handle: (request, response) => {
          seen.push(`${request.headers.authorization}`);
          response.writeHead(307, { location: '/landing?token=a%20b' }).end();
          return true;
        },
      },
      { transport: { bearerToken: 'tok', headers: { 'X-Site': 'berlin' } } },
    );
    expect(disk.equals(RAW)).toBe(true);
    expect(seen).toEqual(['Bearer tok', '/landing?token=a%20b Bearer tok berlin']);
  });
});

describe('without node:ffi', () => {
  test.each(['raw', 'gz', 'bz2', 'xz', 'zst', 'qcow2'] as const)(
    '%s gives the same bytes and the same errors',
    async (format) => {
      process.env['KINDLING_NO_FFI'] = '1';
      try {
        const file = fileOf(format);
        const good = await write({ bytes: file }, { readBack: 'sample' });
        expect(good.error).toBeUndefined();
        expect(good.disk.equals(RAW)).toBe(true);
        const cut = await write({ bytes: file.subarray(0, file.length / 2) });
        expect(cut.error?.code).toBe('KND_IMAGE_TRUNCATED');
      } finally {
        delete process.env['KINDLING_NO_FFI'];
      }
    },
  );
});
