import { describe, expect, test } from 'vitest';
import { type ReceivedImage, verifyImage } from '../../../actions/image-writer/verify-image.ts';

const RECEIVED: ReceivedImage = {
  source: 'http://h/x',
  format: 'zst',
  bytesFetched: 700,
  isEndDefinite: true,
  sha256: 'aa',
  sha512: 'bb',
  rawLength: 4096,
  rawSha256: 'cc',
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

describe('where the server does not say how long the file is', () => {
  const blind = { ...RECEIVED, isEndDefinite: false };

  test('a table or the format itself tells the end', () => {
    expect(() => verifyImage({}, blind)).not.toThrow();
    expect(() => verifyImage({}, { ...blind, format: 'qcow2', neededBytes: 0 })).not.toThrow();
  });

  test('without them a checksum or a length must', () => {
    for (const format of ['raw', 'iso', 'zst'] as const) {
      const received = { ...blind, format, neededBytes: 0 };
      expect(() => verifyImage({}, received)).toThrow(/does not say how long/);
      expect(() => verifyImage({ sha256: 'aa' }, received)).not.toThrow();
    }
  });
});
