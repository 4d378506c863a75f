import { constants, zstdCompressSync } from 'node:zlib';
import { openNativeLibrary } from '../system/native-library.ts';

/** zstd.h; all of them live in the node binary. */
const FUNCTIONS = {
  ZSTD_createCCtx: { arguments: [], return: 'pointer' },
  ZSTD_CCtx_reset: { arguments: ['pointer', 'int32'], return: 'uint64' },
  ZSTD_CCtx_setParameter: { arguments: ['pointer', 'int32', 'int32'], return: 'uint64' },
  ZSTD_compress2: { arguments: ['pointer', 'buffer', 'uint64', 'buffer', 'uint64'], return: 'uint64' },
  ZSTD_compressBound: { arguments: ['uint64'], return: 'uint64' },
  ZSTD_isError: { arguments: ['uint64'], return: 'uint32' },
} as const;

const RESET_ALL = 3;
/** zstd.h, ZSTD_c_experimentalParam5 and 20: what node:zlib does not pass on. */
const LITERAL_COMPRESSION = 1002;
const UNCOMPRESSED = 2;
const BLOCK_SPLITTER = 1017;
/** Each block brings tables that have to be made before it can be unpacked: splitting saves 0.2 % of size and costs 4 % of time. */
const NO_SPLITTING = 1;

/**
 * Short matches are left as literals: 3 % more bytes, 7 % less work for every node that unpacks them (decision 060). From this
 * level on somebody wants the smallest file, whatever it costs.
 */
const LONGEST_MIN_MATCH = 7;
const SMALLEST_LEVELS = 13;

/** Literals are compressed where that makes the chunk smaller by this share: unpacking them is a quarter of the work (decision 060). */
const WORTHWHILE_LITERALS = 0.18;
/** From the middle of the chunk; large enough to be like all of it. */
const SAMPLE = 1024 * 1024;

/** Compresses one chunk into one frame: the same bytes for the same input and level. */
export type CompressFrame = (raw: Uint8Array, level: number) => Uint8Array<ArrayBuffer>;

/** Through node:ffi; where that is missing through node:zlib, which can only compress the literals too. */
export function createCompressFrame(): CompressFrame {
  const compress = openLibrary();
  if (!compress) return compressWithZlib;
  return (raw, level) => {
    if (level >= SMALLEST_LEVELS) return compress(raw, parametersFor(level));
    const parameters = { ...parametersFor(level), [BLOCK_SPLITTER]: NO_SPLITTING };
    const plain = { ...parameters, [LITERAL_COMPRESSION]: UNCOMPRESSED };
    const start = Math.max(0, (raw.length - SAMPLE) >> 1);
    const sample = raw.subarray(start, start + SAMPLE);
    const isWorthIt =
      compress(sample, parameters).length < (1 - WORTHWHILE_LITERALS) * compress(sample, plain).length;
    return compress(raw, isWorthIt ? parameters : plain);
  };
}

function parametersFor(level: number): Record<number, number> {
  return {
    [constants.ZSTD_c_compressionLevel]: level,
    ...(level < SMALLEST_LEVELS ? { [constants.ZSTD_c_minMatch]: LONGEST_MIN_MATCH } : {}),
    [constants.ZSTD_c_contentSizeFlag]: 1,
    [constants.ZSTD_c_checksumFlag]: 0,
  };
}

const compressWithZlib: CompressFrame = (raw, level) =>
  zstdCompressSync(raw, { pledgedSrcSize: raw.length, params: parametersFor(level) });

function openLibrary():
  | ((raw: Uint8Array, parameters: Record<number, number>) => Buffer<ArrayBuffer>)
  | undefined {
  const functions = openNativeLibrary(null, FUNCTIONS)?.functions;
  if (!functions) return undefined;
  const context = functions.ZSTD_createCCtx();
  const checked = (result: bigint): bigint => {
    if (functions.ZSTD_isError(result)) throw new Error(`zstd says ${BigInt.asIntN(64, result)}`);
    return result;
  };
  return (raw, parameters) => {
    functions.ZSTD_CCtx_reset(context, RESET_ALL);
    for (const [name, value] of Object.entries(parameters)) {
      checked(functions.ZSTD_CCtx_setParameter(context, Number(name), value));
    }
    const room = Buffer.allocUnsafeSlow(Number(functions.ZSTD_compressBound(BigInt(raw.length))));
    const length = functions.ZSTD_compress2(context, room, BigInt(room.length), raw, BigInt(raw.length));
    return Buffer.from(room.subarray(0, Number(checked(length))));
  };
}
