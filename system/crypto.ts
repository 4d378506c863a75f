import { openNativeLibrary } from './native-library.ts';

/** For what is needed by few: loading node:crypto takes 10 ms on every thread. (As "crypto" it would collide with the global in a bundled worker.) */
export const nodeCrypto = () => process.getBuiltinModule('node:crypto');

const FUNCTIONS = { SHA256: { arguments: ['buffer', 'uint64', 'buffer'], return: 'pointer' } } as const;
const SHA256_BYTES = 32;

let library: ReturnType<typeof open> | undefined;
const open = () => openNativeLibrary(null, FUNCTIONS) ?? 'none';

/** The SHA-256 of bytes that are all there, by the OpenSSL in the node binary itself. */
export function sha256(bytes: Uint8Array): Buffer {
  library ??= open();
  if (library === 'none') return nodeCrypto().hash('sha256', bytes, 'buffer');
  const digest = Buffer.allocUnsafeSlow(SHA256_BYTES);
  library.functions.SHA256(bytes, BigInt(bytes.length), digest);
  return digest;
}
