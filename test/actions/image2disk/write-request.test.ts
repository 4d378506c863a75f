import { expect, test } from 'vitest';
import { parseVariables } from '../../../actions/contract/parameters.ts';
import { image2disk } from '../../../actions/image2disk/image2disk.ts';
import { neighborsFor, writeRequestFor } from '../../../actions/image2disk/write-request.ts';

const URLS = ['http://10.0.0.7:7070', 'http://10.0.0.8:7070', 'http://[fd00::9]:7070'];

test('a node knows its own entry by its addresses, and listens there', () => {
  expect(neighborsFor(URLS, 30, ['127.0.0.1', '10.0.0.8'])).toEqual({
    urls: URLS,
    ownUrl: 'http://10.0.0.8:7070',
    listen: { host: '10.0.0.8', port: 7070 },
    lingerMs: 30_000,
  });
  expect(neighborsFor(URLS, 0, ['fd00::9'])?.listen.host).toBe('fd00::9');
});

test('a node that nobody lists takes no part, and an empty list counts as no list', () => {
  expect(neighborsFor(URLS, 30, ['10.0.0.99'])).toBeUndefined();
  expect(neighborsFor([], 30, ['10.0.0.8'])).toBeUndefined();
});

const request = (variables: Record<string, string>, access = {}) => {
  const { values } = parseVariables('image2disk', image2disk.parameters, {
    IMG_URL: 'http://h/x',
    ...variables,
  });
  return writeRequestFor('image2disk', values as never, '/dev/sda', access);
};

test.each(['image2disk', 'oci2disk', 'iso2disk', 'qemuimg2disk'])(
  '%s names itself in what it says of a wrong variable',
  (action) => {
    const { values } = parseVariables('image2disk', image2disk.parameters, {
      IMG_URL: 'http://h/x',
      KINDLING_MIRRORS: 'no address',
    });
    expect(() => writeRequestFor(action, values as never, '/dev/sda')).toThrow(
      new RegExp(`^${action}: entry 1 of KINDLING_MIRRORS`),
    );
  },
);

const HEX = 'Ab'.repeat(32);

test.each([
  [{}, { sources: ['http://h/x'], target: '/dev/sda', readBack: 'none' }],
  [{}, { retry: { isEnabled: true, windowMs: 600_000 }, chunks: { mode: 'write' } }],
  [{ RETRY_ENABLED: 'f', RETRY_DURATION_MINUTES: '3' }, { retry: { isEnabled: false, windowMs: 180_000 } }],
  [{ KINDLING_MIRRORS: 'http://a/x, https://b/x' }, { sources: ['http://h/x', 'http://a/x', 'https://b/x'] }],
  [{ SHA256: `sha256:${HEX}` }, { expected: { sha256: HEX.toLowerCase() } }],
  [{ KINDLING_SHA512: HEX + HEX }, { expected: { sha512: (HEX + HEX).toLowerCase() } }],
  [{ KINDLING_RAW_SHA256: HEX }, { expected: { rawSha256: HEX.toLowerCase() } }],
  [{ KINDLING_LENGTH: '7', KINDLING_RAW_LENGTH: '9' }, { expected: { length: 7, rawLength: 9 } }],
  [{ COMPRESSED: 'true' }, { expected: { compressed: true } }],
  [{ KINDLING_SIGNATURE: 'http://h/s' }, { expected: { signatureUrl: 'http://h/s' } }],
  [{ KINDLING_BEARER_TOKEN: 't' }, { transport: { bearerToken: 't' } }],
  [
    { KINDLING_BEARER_ORIGINS: 'https://a.test/path, http://b.test:81' },
    { transport: { credentialOrigins: ['https://a.test', 'http://b.test:81'] } },
  ],
  [
    { HTTP_PROXY: 'http://p', https_proxy: 'http://q', no_proxy: 'h' },
    { transport: { httpProxy: 'http://p', httpsProxy: 'http://q', noProxy: 'h' } },
  ],
  [
    { http_proxy: 'http://p', HTTPS_PROXY: 'http://q', NO_PROXY: 'h' },
    { transport: { httpProxy: 'http://p', httpsProxy: 'http://q', noProxy: 'h' } },
  ],
  [{ KINDLING_MANIFEST: 'http://h/m' }, { chunks: { manifestUrl: 'http://h/m' } }],
  [{ KINDLING_MANIFEST_ROOT: HEX }, { chunks: { manifestRoot: HEX } }],
  [{ KINDLING_MODE: 'repair' }, { chunks: { mode: 'repair' } }],
  [{ KINDLING_READ_BACK: 'all' }, { readBack: 'all' }],
  [
    {
      KINDLING_NEIGHBOURS_URL: 'http://o/n',
      KINDLING_NEIGHBOUR_PORT: '0',
      KINDLING_NEIGHBOUR_LINGER_SECONDS: '5',
    },
    { chunks: { neighbors: { directoryUrl: 'http://o/n', listen: { port: 0 }, lingerMs: 5000 } } },
  ],
  // Accepted, and without effect.
  [{ PROGRESS_INTERVAL_SECONDS: '9', TEXT_LOGGING: 'true' }, { sources: ['http://h/x'] }],
])('%j asks the writer for %j', (variables, wanted) => {
  expect(request(variables as Record<string, string>)).toMatchObject(wanted);
});

test.each([
  [{ KINDLING_MIRRORS: 'http://a/x user:hunter2@nowhere' }, 'entry 2 of KINDLING_MIRRORS'],
  [{ KINDLING_NEIGHBOURS: 'hunter2' }, 'entry 1 of KINDLING_NEIGHBOURS'],
  [{ TLS_CA_CERT: 'hunter2' }, 'TLS_CA_CERT'],
  [{ KINDLING_IMAGE_KEYS: 'hunter2' }, 'KINDLING_IMAGE_KEYS'],
])('%j is refused by name and not shown', (variables, named) => {
  const asking = () => request(variables as Record<string, string>);
  expect(asking).toThrowError(
    expect.objectContaining({ code: 'KND_ACTION_VARIABLES', message: expect.stringContaining(named) }),
  );
  expect(asking).not.toThrow(/hunter2/);
});

test('what a registry gave goes before what the variables say', () => {
  const access = { basicAuth: { username: 'u', password: 'p' }, isUnverified: true };
  expect(request({}, access).transport).toMatchObject(access);
});

test.each(['image2disk', 'oci2disk', 'iso2disk', 'qemuimg2disk'])(
  'a wrong variable of %s is told under its name',
  (action) => {
    const { values } = parseVariables(action, image2disk.parameters, {
      IMG_URL: 'http://h/x',
      TLS_CA_CERT: 'x',
    });
    expect(() => writeRequestFor(action, values as never, '/dev/sda')).toThrow(`${action}: TLS_CA_CERT`);
  },
);
