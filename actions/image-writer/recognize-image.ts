import { redact } from '../../net/redact.ts';
import { KindlingError } from '../../protocol/error.ts';
import { checkFits } from './check-head.ts';
import type { Decoding } from './decoders/choose-decoder.ts';
import { loadQcow2Map } from './decoders/qcow2-map.ts';
import type { DownloadFacts } from './download.ts';
import { checkFormat, sniffFormat } from './formats.ts';
import { rangeReader } from './http/range-reader.ts';
import type { ImageFormat, WriteImageRequest } from './interface.ts';
import type { Target } from './target/target.ts';
import { GATE_BYTES } from './target/withheld.ts';

export interface RecognizeOptions {
  facts: DownloadFacts;
  request: WriteImageRequest;
  target: Target;
  signal: AbortSignal;
  /** A server that is asked again for the tables of a qcow2 image. */
  onRetry: (message: string) => void;
}

/** Names the format by the first bytes, refuses what contradicts it or cannot fit, and finds out how to decode it. */
export async function recognizeImage(
  first: Buffer,
  options: RecognizeOptions,
): Promise<{ format: ImageFormat; decoding: Decoding }> {
  const { facts, request, target } = options;
  const { expected = {} } = request;
  const { source: url, length, contentEncoding, contentType } = facts;
  const format = sniffFormat(first);
  checkFormat(format, expected, { url, contentEncoding, contentType }, redact(url));
  if (expected.rawLength !== undefined) checkFits(expected.rawLength, target, redact(url));
  if ((format === 'raw' || format === 'iso') && length !== undefined) checkFits(length, target, redact(url));
  return { format, decoding: await findDecoding(format, options) };
}

async function findDecoding(format: ImageFormat, options: RecognizeOptions): Promise<Decoding> {
  switch (format) {
    case 'gz':
    case 'bz2':
    case 'xz':
    case 'zst':
      return { format };
    case 'qcow2':
      return findQcow2Clusters(options);
    default:
      return { format: 'raw' };
  }
}

/** The tables of a qcow2 file may lie behind its clusters: they are read first, out of order. */
async function findQcow2Clusters({ facts, request, target, signal, onRetry }: RecognizeOptions) {
  const { source, length, hasRanges } = facts;
  if (!hasRanges) {
    throw new KindlingError(
      'KND_IMAGE_NEEDS_RANGES',
      `${redact(source)} is a qcow2 image, and its server does not answer Range requests`,
    );
  }
  const map = await loadQcow2Map(rangeReader(source, length, { request, signal, log: onRetry }), GATE_BYTES);
  checkFits(map.facts.virtualSize, target, redact(source));
  return { format: 'qcow2' as const, map };
}
