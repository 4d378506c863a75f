import { describe, expect, test } from 'vitest';
import { checkEnd, type ReceivedImage, verifyImage } from '../../../actions/image-writer/verify-image.ts';

const RECEIVED: ReceivedImage = {
  source: 'http://h/x',
  format: 'zst',
  bytesFetched: 700,
  isEndDefinite: true,
  sha256: 'aa',
  sha512: 'bb',
  rawLength: 4096,
  rawSha256: 'cc',
  isEncoded: false,
  neededBytes: 4096,
};

test('an image is believed when everything that was expected holds', () => {
  const expected = { sha256: 'AA', sha512: 'bb', length: 700, rawLength: 4096, rawSha256: 'cc' };
  expect(() => verifyImage(expected, RECEIVED)).not.toThrow();
  expect(() => verifyImage({}, RECEIVED)).not.toThrow();
});

test.each([
  ['KND_IMAGE_HASH', { sha256: 'ab' }, {}],
  ['KND_IMAGE_HASH', { sha512: 'ab' }, {}],
  ['KND_IMAGE_HASH', { rawSha256: 'ab' }, {}],
  ['KND_IMAGE_HASH', { rawSha256: 'ab' }, { rawSha256: undefined }],
  ['KND_IMAGE_LENGTH', { length: 701 }, {}],
  ['KND_IMAGE_LENGTH', { rawLength: 4097 }, {}],
  ['KND_IMAGE_TRUNCATED', {}, { rawLength: 4095 }],
])('%s: expected %j, received %j', (code, expected, received) => {
  expect(() => verifyImage(expected, { ...RECEIVED, ...received })).toThrowError(
    expect.objectContaining({ code }),
  );
});

test('of a file that the server compressed on the way, hash and length may be those of the file', () => {
  const encoded = { ...RECEIVED, format: 'gz', isEncoded: true } as const;
  expect(() => verifyImage({ sha256: 'CC', length: 4096 }, encoded)).not.toThrow();
  expect(() => verifyImage({ sha256: 'aa', length: 700 }, encoded)).not.toThrow();
  expect(() => verifyImage({ sha256: 'ab' }, encoded)).toThrow(/the SHA-256 is aa, expected was ab/);
  expect(() => verifyImage({ sha256: 'cc' }, RECEIVED)).toThrow(/the SHA-256 is aa/);
});

describe('where the server does not say how long the file is', () => {
  const blind = { ...RECEIVED, isEndDefinite: false };

  test('a table or the format itself tells the end', () => {
    expect(() => checkEnd({}, blind)).not.toThrow();
    expect(() => checkEnd({}, { ...blind, format: 'qcow2', neededBytes: 0 })).not.toThrow();
  });

  test('without them a checksum or a length must, or the request allows it', () => {
    for (const format of ['raw', 'iso', 'zst'] as const) {
      const received = { ...blind, format, neededBytes: 0 };
      expect(() => checkEnd({}, received)).toThrowError(
        expect.objectContaining({ code: 'KND_IMAGE_END_UNKNOWN' }),
      );
      expect(() => checkEnd({ sha256: 'aa' }, received)).not.toThrow();
      expect(() => checkEnd({ allowsUnknownEnd: true }, received)).not.toThrow();
    }
  });
});
