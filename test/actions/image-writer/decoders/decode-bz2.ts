import { execFileSync } from 'node:child_process';
import type { BlockThread } from '../../../../actions/image-writer/decoders/bz2/block-thread.ts';
import { decodeFile } from '../../../../actions/image-writer/decoders/bz2/decode-file.ts';
import type { MarkFinder } from '../../../../actions/image-writer/decoders/bz2/marks.ts';
import { decodeInRing } from './decode-in-ring.ts';

/** Compresses with the real program. */
export function bzip2(bytes: Buffer, level = 9): Buffer {
  return execFileSync('bzip2', ['-c', `-${level}`], { input: bytes, maxBuffer: 2 ** 28 });
}

export interface DecodeOptions {
  /** Length of the blocks that are put out; odd, unless something else is asked for. */
  blockBytes?: number | undefined;
  finder?: MarkFinder;
}

export function decode(
  threads: readonly BlockThread[],
  file: Buffer,
  { blockBytes, finder }: DecodeOptions = {},
): Promise<Buffer> {
  return decodeInRing((input, output) => decodeFile(threads, input, output, finder), file, blockBytes);
}
