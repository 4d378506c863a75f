import { KindlingError } from '../../protocol/error.ts';

type Ffi = typeof import('node:ffi');

let lsetxattr:
  | ((path: Buffer, name: Buffer, value: Buffer, size: bigint, flags: number) => number)
  | undefined;

/** lsetxattr(2): capabilities and SELinux labels live there, and Node has no call for it. */
export function setExtendedAttribute(path: string, name: string, value: string): void {
  lsetxattr ??= load();
  const bytes = Buffer.from(value, 'utf8');
  const status = lsetxattr(
    Buffer.from(`${path}\0`),
    Buffer.from(`${name}\0`),
    bytes.length > 0 ? bytes : Buffer.alloc(1),
    BigInt(bytes.length),
    0,
  );
  if (status !== 0) {
    throw new KindlingError(
      'KND_ARCHIVE_INVALID',
      `the attribute ${name} of ${path} cannot be set on this filesystem`,
    );
  }
}

function load(): NonNullable<typeof lsetxattr> {
  const ffi = process.getBuiltinModule('node:ffi') as Ffi | undefined;
  if (!ffi) throw new KindlingError('KND_TOOL_MISSING', 'extended attributes need a Node with node:ffi');
  const { functions } = ffi.dlopen(null, {
    lsetxattr: { arguments: ['buffer', 'buffer', 'buffer', 'uint64', 'int32'], return: 'int32' },
  });
  return functions.lsetxattr as NonNullable<typeof lsetxattr>;
}
