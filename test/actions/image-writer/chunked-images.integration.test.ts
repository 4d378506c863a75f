import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as forward } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeJournal } from '../../../actions/image-writer/chunks/journal.ts';
import {
  type WriteImageRequest,
  type WriteProgress,
  writeImage,
} from '../../../actions/image-writer/index.ts';
import {
  decodeManifest,
  encodeManifest,
  type ImageManifest,
  signManifest,
} from '../../../formats/image-manifest.ts';
import { indexImage } from '../../../images/index-image.ts';
import type { KindlingError } from '../../../protocol/error.ts';
import { makeCertificate } from '../registry/test-certificate.ts';
import { type ImageServer, type ServedFile, startImageServer } from './image-server.ts';
import { makeDiskImage, seededRandom } from './test-image.ts';

const MIB = 1024 * 1024;
const CHUNK = MIB;
const RAW = makeDiskImage(64 * MIB, 7);
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const trusted = publicKey.export({ type: 'spki', format: 'pem' }) as string;
const stranger = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string;

let folder: string;
let server: ImageServer;
let blob: Buffer;
let manifestText: string;
let manifest: ImageManifest;
let serial = 0;

async function index(raw: Buffer): Promise<{ blob: Buffer; manifest: string }> {
  serial += 1;
  const path = join(folder, `index-${serial}`);
  writeFileSync(path, raw);
  const result = await indexImage(path, `${path}.zst`, { chunkSize: CHUNK, level: 1 });
  return { blob: readFileSync(`${path}.zst`), manifest: result.manifest };
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-chunks-'));
  server = await startImageServer({});
  const made = await index(RAW);
  blob = made.blob;
  manifestText = signManifest(made.manifest, privateKey);
  manifest = decodeManifest(manifestText);
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

interface Case {
  blob?: Buffer;
  /** How the server serves the blob, if not well. */
  served?: Partial<ServedFile>;
  manifest?: string;
  disk?: Buffer;
  request?: Partial<WriteImageRequest>;
}

/** Serves an image and its manifest, writes it onto a disk, and gives what is there then. */
async function write(
  { disk = Buffer.alloc(RAW.length, 0xaa), request = {}, ...files }: Case,
  onProgress: (progress: WriteProgress) => void = () => {},
  signal?: AbortSignal,
) {
  serial += 1;
  const path = `/${serial}.zst`;
  server.files.set(path, { bytes: files.blob ?? blob, ...files.served });
  server.files.set(`${path}.manifest`, { bytes: Buffer.from(files.manifest ?? manifestText) });
  const target = join(folder, `${serial}.disk`);
  writeFileSync(target, disk);
  const outcome = await writeImage(
    { sources: [`${server.url}${path}`], target, retry: { windowMs: 900 }, ...request },
    { onProgress, ...(signal ? { signal } : {}) },
  ).then(
    (result) => ({ result, error: undefined }),
    (error: KindlingError) => ({ result: undefined, error }),
  );
  const after = readFileSync(target);
  rmSync(target);
  return { ...outcome, disk: after, ranges: server.requests.filter((line) => line.startsWith(`${path} `)) };
}

function expectUnbootable(disk: Buffer) {
  expect(disk.subarray(0, 512).every((byte) => byte === 0)).toBe(true);
  expect(disk.toString('latin1', 512, 520)).not.toBe('EFI PART');
  expect(disk.subarray(-512).includes('EFI PART')).toBe(false);
}

describe('kindling image index', () => {
  test('gives the same bytes every time, and a .zst that every tool can unpack', async () => {
    const again = await index(RAW);
    expect(again.blob.equals(blob)).toBe(true);
    expect(manifestText.startsWith(again.manifest)).toBe(true);
    const unpacked = execFileSync('zstd', ['-dc'], { input: blob, maxBuffer: 2 ** 30 });
    expect(unpacked.equals(RAW)).toBe(true);
  });
});

describe('a chunked image', () => {
  test('is found beside the image and written bit for bit over old data, zeros not fetched', async () => {
    const { result, error, disk } = await write({
      request: { chunks: { trustedKeys: [trusted] }, readBack: 'all' },
    });
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
    expect(result?.format).toBe('chunked');
    expect(result?.chunks).toMatchObject({
      total: 64,
      fromOrigin: manifest.chunks.length,
    });
    expect(result?.bytesFetched).toBeLessThanOrEqual(blob.length);
  });

  test('works without node:ffi too', async () => {
    process.env['KINDLING_NO_FFI'] = '1';
    const { disk } = await write({});
    delete process.env['KINDLING_NO_FFI'];
    expect(disk.equals(RAW)).toBe(true);
  });

  test('moves the backup table on a larger disk, and a repair of that disk finds nothing', async () => {
    const large = Buffer.alloc(RAW.length + 3 * MIB, 0xaa);
    const first = await write({ disk: large });
    expect(first.result?.gptMoved).toBe(true);
    expect(first.disk.subarray(MIB, RAW.length).equals(RAW.subarray(MIB))).toBe(true);
    const again = await write({ disk: first.disk, request: { chunks: { mode: 'repair' } } });
    expect(again.result?.chunks?.differed).toEqual([]);
    expect(again.result?.bytesFetched).toBe(0);
    expect(again.disk.equals(first.disk)).toBe(true);
  });

  // two are verified together: each must be found out, and not taken for its neighbor
  test.each([1, 2, 3, -3, -2, -1])(
    'with one flipped bit is refused before that chunk is written (%d)',
    async (at) => {
      const bad = Buffer.from(blob);
      const { index = 0, offset = 0, length = 0 } = manifest.chunks.at(at) ?? {};
      bad[offset + (length >> 1)] = (bad[offset + (length >> 1)] ?? 0) ^ 1;
      const { error, disk } = await write({ blob: bad });
      expect(error).toMatchObject({
        code: 'KND_IMAGE_HASH',
        message: expect.stringContaining(`chunk ${index} `),
      });
      // not to its end: the last sector of the disk is cleared before
      expect(disk.subarray(index * CHUNK, (index + 0.5) * CHUNK).every((byte) => byte === 0xaa)).toBe(true);
      expectUnbootable(disk);
    },
  );

  test('comes from the mirror when the first source serves damage', async () => {
    const bad = Buffer.from(blob);
    for (const { offset } of manifest.chunks.slice(3)) bad[offset + 9] = (bad[offset + 9] ?? 0) ^ 1;
    server.files.set('/bad.zst', { bytes: bad });
    server.files.set('/bad.zst.manifest', { bytes: Buffer.from(manifestText) });
    server.files.set('/mirror.zst', { bytes: blob });
    const sources = [`${server.url}/bad.zst`, `${server.url}/mirror.zst`];
    const { disk, error } = await write({ request: { sources, retry: { windowMs: 20_000 } } });
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
  });
});

describe('a server that fails in the middle', () => {
  /** The first answer (the first chunk) is good, all later ones are what `fail` makes of them. */
  function afterFirst(fail: NonNullable<ServedFile['handle']>): Partial<ServedFile> {
    let isFirst = true;
    return {
      handle: (request, response) => {
        if (!isFirst) return fail(request, response);
        isFirst = false;
        return false;
      },
    };
  }
  const rangeOf = (range: string | undefined) =>
    /bytes=(\d+)-(\d+)/
      .exec(range ?? '')
      ?.slice(1)
      .map(Number);
  const partial = (range: string | undefined, etag?: string) => {
    const [start = 0, end = 0] = rangeOf(range) ?? [];
    return {
      'content-range': `bytes ${start}-${end}/${blob.length}`,
      'content-length': end - start + 1,
      ...(etag ? { etag } : {}),
    };
  };

  const faults: [string, () => Case, string][] = [
    ['a blob that is cut off', () => ({ blob: blob.subarray(0, blob.length / 2) }), 'KND_IMAGE_TRUNCATED'],
    [
      'a length header that promises too much',
      () => ({ served: { fault: { kind: 'length', announced: blob.length + 999 } } }),
      'KND_IMAGE_LENGTH',
    ],
    [
      'a connection that drips',
      () => ({
        served: afterFirst((request, response) => {
          response.writeHead(206, partial(request.headers.range));
          const timer = setInterval(() => response.write('x'), 50);
          response.once('close', () => clearInterval(timer));
          return true;
        }),
        request: { transport: { stallTimeoutMs: 250 }, retry: { windowMs: 900 } },
      }),
      'KND_IMAGE_STALLED',
    ],
    [
      'a connection that breaks in every answer',
      () => ({
        served: afterFirst((request, response) => {
          response.writeHead(206, partial(request.headers.range)).write('x', () => response.destroy());
          return true;
        }),
      }),
      'KND_IMAGE_TRUNCATED',
    ],
    [
      'a redirect in circles',
      () => ({
        served: afterFirst((request, response) => {
          response.writeHead(302, { location: request.url ?? '' }).end();
          return true;
        }),
      }),
      'KND_IMAGE_REDIRECT',
    ],
    [
      'answer 500',
      () => ({
        served: afterFirst((_, response) => {
          response.writeHead(500).end('broken');
          return true;
        }),
      }),
      'KND_IMAGE_SERVER_ERROR',
    ],
    [
      'another file under the same address',
      () => ({
        served: afterFirst((request, response) => {
          const head = partial(request.headers.range, '"another"');
          response.writeHead(206, head).end(Buffer.alloc(head['content-length'], 7));
          return true;
        }),
      }),
      'KND_IMAGE_CHANGED',
    ],
  ];
  test.each(faults)('%s has its own code and leaves nothing bootable', async (_, make, code) => {
    const { error, disk } = await write(make());
    expect(error?.code).toBe(code);
    if (!disk.every((byte) => byte === 0xaa)) expectUnbootable(disk);
  });

  test('a connection that breaks once costs only what was missing', async () => {
    let breaks = 1;
    const served = afterFirst((request, response) => {
      if (breaks === 0) return false;
      breaks -= 1;
      response.writeHead(206, partial(request.headers.range)).write('x', () => response.destroy());
      return true;
    });
    const { disk, error } = await write({ served, request: { retry: { windowMs: 20_000 } } });
    expect(error).toBeUndefined();
    expect(disk.equals(RAW)).toBe(true);
  });
});

describe('a write that is called off', () => {
  const reason = new Error('called off');
  const isFirstChunk = ({ headers }: IncomingMessage) => headers.range?.startsWith('bytes=0-') === true;
  const isLater = (request: IncomingMessage) => !isFirstChunk(request);

  /** Calls the write off a moment after the first of these requests, which is answered so. */
  async function callOff(
    isMeant: (request: IncomingMessage) => boolean,
    answer: (response: ServerResponse) => void,
    request: Partial<WriteImageRequest> = {},
  ) {
    const controller = new AbortController();
    let calledOffAt = Number.NaN;
    const served: Partial<ServedFile> = {
      handle: (asked, response) => {
        if (!isMeant(asked)) return false;
        setTimeout(() => {
          if (!controller.signal.aborted) calledOffAt = performance.now();
          controller.abort(reason);
        }, 300);
        answer(response);
        return true;
      },
    };
    const { error, disk } = await write({ served, request }, () => {}, controller.signal);
    expect(error).toBe(reason);
    expect(performance.now() - calledOffAt).toBeLessThan(10_000);
    return disk;
  }

  test('while it waits for an answer ends at once, and nothing boots', async () => {
    expectUnbootable(await callOff(isLater, () => {}));
  });

  test('while it pauses before it asks again ends at once, and nothing boots', async () => {
    const fail = (response: ServerResponse) => response.writeHead(503).end();
    expectUnbootable(await callOff(isLater, fail, { retry: { windowMs: 600_000 } }));
  });

  test('while it waits for the first chunk ends at once, and the disk is as it was', async () => {
    const disk = await callOff(isFirstChunk, () => {});
    expect(disk.every((byte) => byte === 0xaa)).toBe(true);
  });

  test('before it began leaves the disk as it is', async () => {
    const { error, disk } = await write({}, () => {}, AbortSignal.abort(reason));
    expect(error).toBe(reason);
    expect(disk.every((byte) => byte === 0xaa)).toBe(true);
  });
});

describe('the manifest', () => {
  test.each([
    ['signed by a stranger', () => ({ trustedKeys: [stranger] }), 'KND_IMAGE_SIGNATURE'],
    [
      'with another root than the orchestrator named',
      () => ({ manifestRoot: '0'.repeat(64) }),
      'KND_IMAGE_MANIFEST',
    ],
  ] as const)('%s stops everything before the disk is touched', async (_, chunks, code) => {
    const { error, disk } = await write({ request: { chunks: chunks() } });
    expect(error?.code).toBe(code);
    expect(disk.every((byte) => byte === 0xaa)).toBe(true);
  });

  describe('with a version and an end', () => {
    const edition = (more: { version?: number; expires?: string }) =>
      encodeManifest({ ...manifest, ...more }, manifest.chunks);
    const SOON = new Date(Date.now() + 3_600_000).toISOString();
    const PAST = '2020-01-01T00:00:00.000Z';

    test('is taken while it is good and new enough', async () => {
      const text = edition({ version: 7, expires: SOON });
      const { result } = await write({ manifest: text, request: { chunks: { minimumVersion: 7 } } });
      expect(result?.format).toBe('chunked');
    });

    test.each([
      ['of an older version', { version: 6, expires: SOON }, 'KND_IMAGE_OLD'],
      ['without a version', {}, 'KND_IMAGE_OLD'],
      ['that is over', { version: 7, expires: PAST }, 'KND_IMAGE_EXPIRED'],
    ] as const)('one %s stops everything before the disk is touched', async (_, more, code) => {
      const request = { chunks: { minimumVersion: 7 } };
      const { error, disk } = await write({ manifest: edition(more), request });
      expect(error?.code).toBe(code);
      expect(disk.every((byte) => byte === 0xaa)).toBe(true);
    });

    test('the request that names the root means this very image, though it is over', async () => {
      const text = edition({ expires: PAST });
      const { root: manifestRoot } = decodeManifest(text);
      const { result } = await write({ manifest: text, request: { chunks: { manifestRoot } } });
      expect(result?.format).toBe('chunked');
    });
  });

  test('that was changed after signing is not signed any more', async () => {
    const [line = ''] = manifestText.split('\n').slice(2, 3);
    const tampered = manifestText.replace(`${line}\n`, '');
    const { error } = await write({ manifest: tampered, request: { chunks: { trustedKeys: [trusted] } } });
    expect(error?.code).toBe('KND_IMAGE_SIGNATURE');
  });

  test('that nobody vouches for does not replace an expected checksum: the plain way is taken', async () => {
    const { result, disk } = await write({
      request: { expected: { sha256: manifest.blobSha256 }, chunks: {} },
    });
    expect(result?.format).toBe('zst');
    expect(disk.equals(RAW)).toBe(true);
  });

  test('that is missing is an error only when it is needed', async () => {
    const request = { sources: [`${server.url}/alone.zst`] };
    server.files.set('/alone.zst', { bytes: blob });
    expect((await write({ request })).result?.format).toBe('zst');
    const forced = await write({ request: { ...request, chunks: { use: 'require' } } });
    expect(forced.error?.code).toBe('KND_IMAGE_MANIFEST');
  });

  test('is not what a person looks for when the image is missing too', async () => {
    const sources = [`${server.url}/typo.zst`, `${server.url}/typo-again.zst`];
    const { error, disk } = await write({ request: { sources, chunks: { use: 'require' } } });
    expect(error?.code).toBe('KND_IMAGE_NOT_FOUND');
    expect(error?.message).toBe(`neither ${sources[0]} nor its manifest is there`);
    expect(disk.every((byte) => byte === 0xaa)).toBe(true);
  });
});

describe('what the request expects of a chunked image', () => {
  const trustedKeys = [trusted];
  const unsigned = () => manifestText.slice(0, manifestText.indexOf('\nsignature ') + 1);

  test.each([
    ['a length of the file', { length: 5 }, 'KND_IMAGE_LENGTH'],
    ['a raw length', { rawLength: 5 }, 'KND_IMAGE_LENGTH'],
    ['a SHA-256 of the file', { sha256: '0'.repeat(64) }, 'KND_IMAGE_HASH'],
    ['a SHA-256 of the raw image', { rawSha256: '0'.repeat(64) }, 'KND_IMAGE_HASH'],
    ['that it is not compressed', { compressed: false }, 'KND_IMAGE_CONTRADICTION'],
    ['another format', { format: 'gz' }, 'KND_IMAGE_CONTRADICTION'],
  ] as const)('%s, and it is not so: told before the disk is touched', async (_, expected, code) => {
    const { error, disk } = await write({ request: { expected, chunks: { trustedKeys } } });
    expect(error?.code).toBe(code);
    expect(disk.every((byte) => byte === 0xaa)).toBe(true);
  });

  test('a SHA-512, which a manifest does not have: the plain way checks it', async () => {
    const sha512 = createHash('sha512').update(blob).digest('hex');
    const good = await write({ request: { expected: { sha512 }, chunks: { trustedKeys } } });
    expect(good.result?.format).toBe('zst');
    const bad = await write({ request: { expected: { sha512: '0'.repeat(128) }, chunks: { trustedKeys } } });
    expect(bad.error?.code).toBe('KND_IMAGE_HASH');
    expectUnbootable(bad.disk);
    const delta = { trustedKeys, mode: 'delta' } as const;
    expect((await write({ request: { expected: { sha512 }, chunks: delta } })).error?.code).toBe(
      'KND_IMAGE_SIGNATURE',
    );
  });

  test('a key: an unsigned manifest is refused untouched, even if its root is the right one', async () => {
    for (const manifestRoot of [{}, { manifestRoot: manifest.root }]) {
      const { error, disk } = await write({
        manifest: unsigned(),
        request: { chunks: { trustedKeys, ...manifestRoot } },
      });
      expect(error?.code).toBe('KND_IMAGE_SIGNATURE');
      expect(error?.message).toContain('not signed');
      expect(disk.every((byte) => byte === 0xaa)).toBe(true);
    }
  });

  test('a root alone vouches for an unsigned manifest', async () => {
    const chunks = { manifestRoot: manifest.root };
    const { result } = await write({ manifest: unsigned(), request: { chunks } });
    expect(result?.format).toBe('chunked');
  });
});

test('a manifest whose server fails at first is waited for when it is needed', async () => {
  let failures = 2;
  server.files.set('/late.zst', { bytes: blob });
  server.files.set('/late.zst.manifest', {
    bytes: Buffer.from(manifestText),
    handle: (_, response) => {
      failures -= 1;
      if (failures >= 0) response.writeHead(503).end('busy');
      return failures >= 0;
    },
  });
  const { result, error } = await write({
    request: {
      sources: [`${server.url}/late.zst`],
      retry: { windowMs: 20_000 },
      chunks: { manifestRoot: manifest.root },
    },
  });
  expect(error).toBeUndefined();
  expect(result?.format).toBe('chunked');
});

test('a server without ranges gives the plain file, which the signed manifest vouches for', async () => {
  const chunks = { trustedKeys: [trusted] };
  const expected = { signers: [trusted] };
  const good = await write({ served: { hasRanges: false }, request: { chunks, expected } });
  expect(good.error).toBeUndefined();
  expect(good.result?.format).toBe('zst');
  expect(good.disk.equals(RAW)).toBe(true);
  const other = zstdCompressSync(RAW);
  const bytes = Buffer.concat([other, Buffer.alloc(Math.max(0, blob.length - other.length))]);
  const bad = await write({
    blob: bytes.subarray(0, blob.length),
    served: { hasRanges: false },
    request: { chunks },
  });
  expect(bad.error).toBeDefined();
  expectUnbootable(bad.disk);
  const forced = await write({ served: { hasRanges: false }, request: { chunks: { use: 'require' } } });
  expect(forced.error?.code).toBe('KND_IMAGE_NEEDS_RANGES');
  expect(forced.disk.every((byte) => byte === 0xaa)).toBe(true);
});

test('over TLS every thread believes whom the process believes', async () => {
  const { cert, key } = await makeCertificate('127.0.0.1');
  await using secure = createTlsServer({ cert, key }, (request, response) => {
    forward(
      { port: Number(new URL(server.url).port), path: request.url, headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    ).end();
  }).listen(0, '127.0.0.1');
  await once(secure, 'listening');
  server.files.set('/tls.zst', { bytes: blob });
  server.files.set('/tls.zst.manifest', { bytes: Buffer.from(manifestText) });
  const sources = [`https://127.0.0.1:${(secure.address() as AddressInfo).port}/tls.zst`];
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, cert]);
  const { error, result } = await write({ request: { sources } });
  setDefaultCACertificates(before);
  secure.closeAllConnections();
  expect(error).toBeUndefined();
  expect(result?.format).toBe('chunked');
});

test('a container that was indexed instead of a raw image is refused untouched', async () => {
  const container = Buffer.from(RAW);
  Buffer.from('QFI\xfb', 'latin1').copy(container);
  serial += 1;
  const path = join(folder, `container-${serial}`);
  writeFileSync(path, container);
  await expect(indexImage(path, `${path}.zst`)).rejects.toMatchObject({ code: 'KND_IMAGE_CONTRADICTION' });
  // as an older version would have made it
  const { gpt: _, ...facts } = manifest;
  const frame = zstdCompressSync(container.subarray(0, CHUNK));
  const hex = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  const first = {
    index: 0,
    offset: 0,
    length: frame.length,
    storedSha256: hex(frame),
    rawSha256: hex(container.subarray(0, CHUNK)),
  };
  const forged = encodeManifest({ ...facts, blobSize: frame.length }, [first]);
  const { error, disk } = await write({ blob: frame, manifest: forged });
  expect(error?.code).toBe('KND_IMAGE_UNSUPPORTED');
  expect(disk.every((byte) => byte === 0xaa)).toBe(true);
});

describe('the journal on the disk', () => {
  const SLOT = 256 * 1024;
  /** A disk whose journal says that everything of this image is there. */
  function withJournal(root: string, change: (record: Buffer) => void = () => {}): Buffer {
    const disk = Buffer.alloc(RAW.length, 0xaa);
    const record = disk.subarray(SLOT, SLOT + 4096);
    encodeJournal(record, root, 9, 64, Buffer.alloc(8, 0xff));
    change(record);
    return disk;
  }
  test.each([
    [
      'of this image, on a disk that holds none of it (another disk, in the same place)',
      () => withJournal(manifest.root),
    ],
    ['of another image', () => withJournal('cd'.repeat(32))],
    ['with a flipped bit', () => withJournal(manifest.root, (record) => record.writeUInt8(0x0f, 50))],
    ['that is nothing but its magic', () => withJournal(manifest.root, (record) => record.fill(0xff, 8))],
  ])('%s costs time, never a wrong disk', async (_, disk) => {
    const { result, disk: after } = await write({ disk: disk() });
    expect(after.equals(RAW)).toBe(true);
    expect(result?.chunks?.kept).toBe(0);
  });
});

test('what is read back is not counted as kept, and progress only goes forward', async () => {
  const seen: WriteProgress[] = [];
  const { result } = await write({ request: { readBack: 'all' } }, (progress) => seen.push(progress));
  expect(result?.chunks?.kept).toBe(0);
  const percents = seen.map(({ percent }) => percent ?? 0);
  expect(percents).toEqual(percents.toSorted((a, b) => a - b));
  expect(seen.at(-1)).toMatchObject({ percent: 100, phase: 'done' });
});

test.each([503, 404, 403])('a server that answers %s for a while is named and waited for', async (status) => {
  const seen: WriteProgress[] = [];
  let requests = 0;
  const handle: ServedFile['handle'] = (_, response) => {
    requests += 1;
    const isAway = requests > 1 && requests < 9;
    if (isAway) response.writeHead(status).end();
    return isAway;
  };
  const { result, disk } = await write(
    { served: { handle }, request: { retry: { windowMs: 60_000 } } },
    (progress) => seen.push(progress),
  );
  expect(disk.equals(RAW)).toBe(true);
  expect(result?.resumes).toBeGreaterThan(0);
  expect(seen.map(({ waitingFor }) => waitingFor).join('\n')).toMatch(
    /since \d+ s \(chunk \d+: .* (answered \d+|is not there \(404\))\)/,
  );
});

describe('delta and repair', () => {
  /** Overwrites `count` places of 4 KiB, each in a chunk of its own, away from the first chunk. */
  function change(image: Buffer, count: number): { changed: Buffer; chunks: number[] } {
    const changed = Buffer.from(image);
    const random = seededRandom(count);
    const chunks = new Set<number>();
    while (chunks.size < count) chunks.add(5 + Math.floor(random() * 55));
    for (const chunk of chunks) changed.fill(0x5a, chunk * CHUNK + 8192, chunk * CHUNK + 12_288);
    return { changed, chunks: [...chunks].sort((a, b) => a - b) };
  }

  test('an image that changed by 2 % fetches at most 6 % of its bytes', async () => {
    const { changed } = change(RAW, 2);
    const next = await index(changed);
    const { result, disk } = await write({
      ...next,
      disk: RAW,
      request: { chunks: { mode: 'delta' } },
    });
    expect(disk.equals(changed)).toBe(true);
    expect(result?.bytesFetched).toBeLessThan(next.blob.length * 0.06);
  });

  test('a repair names what differed and fetches no more than that', async () => {
    const { changed, chunks } = change(RAW, 20);
    const { result, disk } = await write({ disk: changed, request: { chunks: { mode: 'repair' } } });
    expect(disk.equals(RAW)).toBe(true);
    expect(result?.chunks?.differed).toEqual(chunks);
    expect(result?.chunks?.fromOrigin).toBeLessThanOrEqual(20);
  });

  test('a repair of an intact disk does not write at all', async () => {
    const seen: WriteProgress[] = [];
    const { result, disk, ranges } = await write(
      { disk: RAW, request: { chunks: { mode: 'repair' } } },
      (progress) => seen.push(progress),
    );
    expect(seen.at(-1)?.percent).toBe(100);
    expect(disk.equals(RAW)).toBe(true);
    expect(result).toMatchObject({ bytesFetched: 0, bytesWritten: 0 });
    expect(ranges).toEqual([]);
  });

  test('a damaged boot sector is repaired with the first chunk only', async () => {
    const damaged = Buffer.from(RAW);
    damaged.fill(0xff, 0, 512);
    const { result, disk } = await write({ disk: damaged, request: { chunks: { mode: 'repair' } } });
    expect(disk.equals(RAW)).toBe(true);
    expect(result?.chunks).toMatchObject({ differed: [0], fromOrigin: 1 });
  });
});
