import { KindlingError } from '../../protocol/error.ts';
import type { ErrorCode } from '../../protocol/error-codes.ts';
import type { ExpectedImage, ImageFormat } from './interface.ts';

/** What came, and what became of it. */
export interface ReceivedImage {
  /** For messages. */
  source: string;
  format: ImageFormat;
  bytesFetched: number;
  /** Whether the server marked the end of the file, so that an early end cannot pass for it. */
  isEndDefinite: boolean;
  sha256: string | undefined;
  sha512: string | undefined;
  rawLength: number;
  rawSha256: string | undefined;
  /** The server compressed the file on the way: what is expected may speak of the file, or of the answer. */
  isEncoded: boolean;
  /** The size of a disk that its partition table needs; 0 without one. */
  neededBytes: number;
}

/** Nothing is believed until length, hash and table agree with what was expected. */
export function verifyImage(expected: ExpectedImage, received: ReceivedImage): void {
  const { source, rawLength, neededBytes } = received;
  const compare = (
    code: ErrorCode,
    name: string,
    wanted: string | number | undefined,
    found: string | number | undefined,
  ) => {
    if (wanted === undefined || String(wanted).toLowerCase() === String(found)) return;
    throw new KindlingError(code, `${source}: ${name} is ${found}, expected was ${wanted}`);
  };
  if (rawLength < neededBytes) {
    throw new KindlingError(
      'KND_IMAGE_TRUNCATED',
      `${source} holds ${rawLength} bytes, its partition table needs ${neededBytes}`,
    );
  }
  const { isEncoded } = received;
  const isOfFile = {
    length: isEncoded && expected.length === rawLength,
    sha256: isEncoded && isSame(expected.sha256, received.rawSha256),
  };
  if (!isOfFile.length) compare('KND_IMAGE_LENGTH', 'the length', expected.length, received.bytesFetched);
  if (!isOfFile.sha256) compare('KND_IMAGE_HASH', 'the SHA-256', expected.sha256, received.sha256);
  compare('KND_IMAGE_HASH', 'the SHA-512', expected.sha512, received.sha512);
  compare('KND_IMAGE_LENGTH', 'the raw length', expected.rawLength, rawLength);
  const { rawSha256 = 'unknown' } = received;
  compare('KND_IMAGE_HASH', 'the SHA-256 of the raw image', expected.rawSha256, rawSha256);
}

/** Before the disk is touched: an answer that ends when the connection does may have ended anywhere. */
export function checkEnd(
  expected: ExpectedImage,
  received: Pick<ReceivedImage, 'source' | 'format' | 'isEndDefinite' | 'neededBytes'>,
): void {
  const isChecked = expected.sha256 ?? expected.sha512 ?? expected.length ?? expected.rawSha256;
  if (isChecked !== undefined || expected.allowsUnknownEnd || !hasUnknownEnd(received)) return;
  throw new KindlingError(
    'KND_IMAGE_END_UNKNOWN',
    `${received.source}: the server does not say how long the image is, so nobody could tell whether all of it came`,
  );
}

const isSame = (wanted: string | undefined, found: string | undefined) =>
  wanted !== undefined && wanted.toLowerCase() === found;

/** Compressed data has an end of its own, but another frame could have followed: only a table says how much there should be. */
function hasUnknownEnd({
  format,
  neededBytes,
  isEndDefinite,
}: Pick<ReceivedImage, 'format' | 'isEndDefinite' | 'neededBytes'>): boolean {
  const isCompressed = format !== 'raw' && format !== 'iso';
  const endsItself = format === 'qcow2' || (isCompressed && neededBytes > 0);
  return !endsItself && !isEndDefinite;
}
