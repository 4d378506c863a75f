import { openNativeLibrary } from '../../../system/native-library.ts';

/** The C functions we call: they all live in the node binary or libc, so no add-on has to be shipped. */
const FUNCTIONS = {
  __errno_location: { arguments: [], return: 'pointer' },
  fallocate: { arguments: ['int32', 'int32', 'int64', 'int64'], return: 'int32' },
  ioctl: { arguments: ['int32', 'uint64', 'uint64'], return: 'int32' },
  inflate: { arguments: ['buffer', 'int32'], return: 'int32' },
  inflateEnd: { arguments: ['buffer'], return: 'int32' },
  inflateInit2_: { arguments: ['buffer', 'int32', 'pointer', 'int32'], return: 'int32' },
  inflateReset: { arguments: ['buffer'], return: 'int32' },
  madvise: { arguments: ['pointer', 'uint64', 'int32'], return: 'int32' },
  zlibVersion: { arguments: [], return: 'pointer' },
  ZSTD_createDCtx: { arguments: [], return: 'pointer' },
  ZSTD_freeDCtx: { arguments: ['pointer'], return: 'uint64' },
  ZSTD_decompressDCtx: { arguments: ['pointer', 'buffer', 'uint64', 'buffer', 'uint64'], return: 'uint64' },
  ZSTD_decompressStream: { arguments: ['pointer', 'buffer', 'buffer'], return: 'uint64' },
  ZSTD_getErrorName: { arguments: ['uint64'], return: 'pointer' },
  ZSTD_isError: { arguments: ['uint64'], return: 'uint32' },
} as const;

export interface Native {
  functions: Library['functions'];
  addressOf: (view: Buffer) => bigint;
  errno: () => number;
  textAt: (pointer: bigint) => string;
}

type Library = NonNullable<ReturnType<typeof open>>;
const open = () => openNativeLibrary(null, FUNCTIONS);

let loaded: Native | undefined;

/** C functions at C speed, where this Node has node:ffi. */
export function native(): Native | undefined {
  if (process.env['KINDLING_NO_FFI']) return undefined;
  loaded ??= wrap(open());
  return loaded;
}

function wrap(library: Library | undefined): Native | undefined {
  if (!library) return undefined;
  const { ffi, functions } = library;
  return {
    functions,
    addressOf: (view) => ffi.getRawPointer(view),
    errno: () => ffi.getInt32(functions.__errno_location()),
    textAt: (pointer) => ffi.toString(pointer) ?? '',
  };
}
