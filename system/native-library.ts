import { KindlingError } from '../protocol/error.ts';

type Ffi = typeof import('node:ffi');
type Definitions = Parameters<Ffi['dlopen']>[1] & object;

/**
 * C functions of a library, or of the node binary itself and all it is linked with (`null`): no add-on has to be shipped. Undefined
 * where this Node has no node:ffi, or KINDLING_NO_FFI is set, or something of it is missing: then callers take their
 * plain-JavaScript way, which gives the same bytes.
 */
export function openNativeLibrary<const T extends Definitions>(path: string | null, definitions: T) {
  if (process.env['KINDLING_NO_FFI']) return undefined;
  try {
    const ffi = quietly(() => process.getBuiltinModule('node:ffi') as Ffi);
    return { ffi, functions: ffi.dlopen(path, definitions).functions };
  } catch {
    return undefined;
  }
}

/** The same for work that has no plain-JavaScript way. `what` begins the message: "NVMe commands". */
export function requireNativeLibrary<const T extends Definitions>(
  path: string | null,
  definitions: T,
  what: string,
) {
  const library = openNativeLibrary(path, definitions);
  if (library) return library;
  throw new KindlingError('KND_TOOL_MISSING', `${what} need a Node with node:ffi`, {
    hint: 'Use the Node of this project, and unset KINDLING_NO_FFI.',
  });
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
