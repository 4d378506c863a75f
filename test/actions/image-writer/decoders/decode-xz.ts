import { execFileSync } from 'node:child_process';
import type { Crew } from '../../../../actions/image-writer/decoders/xz/crew.ts';
import { decodeFile } from '../../../../actions/image-writer/decoders/xz/decode-file.ts';
import { decodeInRing } from './decode-in-ring.ts';

/** Compresses with the real program. */
export function xz(bytes: Buffer, ...options: string[]): Buffer {
  return execFileSync('xz', ['-c', ...options], { input: bytes, maxBuffer: 2 ** 28 });
}

export function decode(crew: Crew, file: Buffer, blockBytes?: number): Promise<Buffer> {
  return decodeInRing((input, output) => decodeFile(crew, input, output), file, blockBytes);
}
