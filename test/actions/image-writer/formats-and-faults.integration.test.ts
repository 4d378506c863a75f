import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ImageFormat, type WriteImageRequest, writeImage } from '../../../actions/image-writer/index.ts';
import type { KindlingError } from '../../../protocol/error.ts';
import { type ImageServer, type ServedFile, startImageServer } from './image-server.ts';
import { convertToQcow2, encodeImage, makeDiskImage } from './test-image.ts';

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

  test('is recognised by its bytes and written bit for bit over old data', async () => {
    const { result, disk, error } = await write(
      { bytes: file },
      { expected: { sha256: sha256(file), length: file.length }, readBack: 'all' },
    );
    expect(error).toBeUndefined();
    expect(disk.equals(rawOf(format))).toBe(true);
    expect(result).toMatchObject({ format, sha256: sha256(file), resumes: 0 });
    expect(result?.closingLine).toMatch(/^9\.0 MiB in .* s, \d+ MB\/s; limited by /);
  });

  test('goes on where the connection broke, by Range', async () => {
    const { result, disk, path } = await write({ bytes: file, fault: { kind: 'cut', at: half, times: 1 } });
    expect(disk.equals(rawOf(format))).toBe(true);
    expect(result?.resumes).toBe(1);
    const continued = server.requests.filter(
      (line) => line.startsWith(`${path} bytes=`) && line.endsWith('-'),
    );
    expect(continued).toHaveLength(1);
  });

  test('starts the download again where the server has no ranges', async () => {
    if (format === 'qcow2') return; // has a test of its own: it needs ranges
    const { result, disk } = await write({
      bytes: file,
      hasRanges: false,
      fault: { kind: 'cut', at: half, times: 1 },
    });
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

  test('a Content-Encoding the bytes do not have is a contradiction', async () => {
    const { error } = await write({ bytes: RAW, headers: { 'content-encoding': 'gzip' } });
    expect(error?.code).toBe('KND_IMAGE_CONTRADICTION');
  });

  test('chunked transfer has an end of its own; a raw body without any end is refused', async () => {
    const chunked = await write({ bytes: RAW, fault: { kind: 'no-length' } });
    expect(chunked.disk.equals(RAW)).toBe(true);
    const endless = await write({
      bytes: RAW,
      handle: (_, response) => {
        response.useChunkedEncodingByDefault = false;
        response.writeHead(200, { connection: 'close' }).end(RAW);
        return true;
      },
    });
    expect(endless.error?.code).toBe('KND_IMAGE_LENGTH');
    expectUnbootable(endless.disk);
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
