import { KindlingError } from '../../../protocol/error.ts';
import { sha256 as hash } from '../../../system/crypto.ts';
import { native } from '../target/native.ts';

/** Unpacks one frame into a block; answers false when the frame does not unpack to exactly this length. */
export type Unpack = (frame: Buffer, into: Buffer, rawLength: number) => boolean;

/** One decompression context per thread, kept: making one costs more than a small chunk. */
export function createUnpack(): Unpack {
  const c = native();
  if (!c) return unpackWithZlib;
  const { functions } = c;
  const context = functions.ZSTD_createDCtx();
  return (frame, into, rawLength) => {
    const result = functions.ZSTD_decompressDCtx(
      context,
      into,
      BigInt(into.length),
      frame,
      BigInt(frame.length),
    );
    return result === BigInt(rawLength);
  };
}

const unpackWithZlib: Unpack = (frame, into, rawLength) => {
  try {
    const raw = process
      .getBuiltinModule('node:zlib')
      .zstdDecompressSync(frame, { maxOutputLength: rawLength + 1 });
    if (raw.length !== rawLength) return false;
    raw.copy(into);
    return true;
  } catch {
    return false;
  }
};

export const hasHash = (bytes: Buffer, sha256: Buffer): boolean => hash(bytes).equals(sha256);

/** A chunk that is not what was signed; `isReplaced` says that the server has another file by now. */
export const wrongChunk = (index: number, source: string, isReplaced = false): KindlingError =>
  isReplaced
    ? new KindlingError(
        'KND_IMAGE_CHANGED',
        `${source} was replaced while it was downloaded (chunk ${index})`,
      )
    : new KindlingError('KND_IMAGE_HASH', `chunk ${index} from ${source} is not the one the manifest names`);

/** The same on every try: the file itself, not the way to it, is at fault. */
export const isWrongContent = ({ code }: KindlingError): boolean =>
  ['KND_IMAGE_HASH', 'KND_IMAGE_CHANGED', 'KND_IMAGE_LENGTH'].includes(code);
