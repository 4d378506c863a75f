type Ffi = typeof import('node:ffi');

/** The C functions we call: they all live in the node binary or libc, so no add-on has to be shipped. */
const FUNCTIONS = {
  __errno_location: { arguments: [], return: 'pointer' },
  fcntl: { arguments: ['int32', 'int32', 'int64'], return: 'int32' },
  fallocate: { arguments: ['int32', 'int32', 'int64', 'int64'], return: 'int32' },
  ioctl: { arguments: ['int32', 'uint64', 'uint64'], return: 'int32' },
  inflate: { arguments: ['buffer', 'int32'], return: 'int32' },
  inflateEnd: { arguments: ['buffer'], return: 'int32' },
  inflateInit2_: { arguments: ['buffer', 'int32', 'pointer', 'int32'], return: 'int32' },
  inflateReset: { arguments: ['buffer'], return: 'int32' },
  madvise: { arguments: ['pointer', 'uint64', 'int32'], return: 'int32' },
  pipe2: { arguments: ['buffer', 'int32'], return: 'int32' },
  write: { arguments: ['int32', 'buffer', 'uint64'], return: 'int64' },
  zlibVersion: { arguments: [], return: 'pointer' },
  ZSTD_createDCtx: { arguments: [], return: 'pointer' },
  ZSTD_freeDCtx: { arguments: ['pointer'], return: 'uint64' },
  ZSTD_decompressDCtx: { arguments: ['pointer', 'buffer', 'uint64', 'buffer', 'uint64'], return: 'uint64' },
  ZSTD_decompressStream: { arguments: ['pointer', 'buffer', 'buffer'], return: 'uint64' },
  ZSTD_getErrorName: { arguments: ['uint64'], return: 'pointer' },
  ZSTD_isError: { arguments: ['uint64'], return: 'uint32' },
} as const;

export interface Native {
  functions: ReturnType<typeof load>['functions'];
  addressOf: (view: Buffer) => bigint;
  errno: () => number;
  textAt: (pointer: bigint) => string;
}

let loaded: Native | undefined;

/**
 * C functions at C speed, or undefined where this Node has no node:ffi (or KINDLING_NO_FFI is set): then the
 * callers take their plain-JavaScript way, which gives the same bytes.
 */
export function native(): Native | undefined {
  if (process.env['KINDLING_NO_FFI']) return undefined;
  try {
    loaded ??= wrap();
  } catch {
    return undefined;
  }
  return loaded;
}

function wrap(): Native {
  const { ffi, functions } = load();
  return {
    functions,
    addressOf: (view) => ffi.getRawPointer(view),
    errno: () => ffi.getInt32(functions.__errno_location()),
    textAt: (pointer) => ffi.toString(pointer) ?? '',
  };
}

function load() {
  const ffi = quietly(() => process.getBuiltinModule('node:ffi') as Ffi);
  return { ffi, functions: ffi.dlopen(null, FUNCTIONS).functions };
}

/** node:ffi warns that it is experimental; on a node's console that would only alarm people. */
function quietly<T>(action: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return action();
  } finally {
    process.emitWarning = emitWarning;
  }
}
