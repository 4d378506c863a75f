import { createHash } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';

/** Offsets: Microsoft "PE Format", COFF header, optional header PE32+. */
const PE_POINTER = 0x3c;
const OPTIONAL_HEADER = 24;
const CHECKSUM = 64;
const CERTIFICATE_TABLE = 144;
const PE32_PLUS = 0x20b;

/**
 * The SHA-256 by which a signature and firmware name an EFI program (Microsoft "Authenticode Portable Executable Signature
 * Format"): all of it but its checksum and its signatures, so that it is the same before and after signing.
 * Programs of ours have their sections in order of the file and nothing between them.
 */
export function programDigest(program: Buffer): string {
  const optional = program.length > PE_POINTER + 4 ? program.readUInt32LE(PE_POINTER) + OPTIONAL_HEADER : 0;
  const table = optional + CERTIFICATE_TABLE;
  if (program.length < table + 8 || program.readUInt16LE(optional) !== PE32_PLUS)
    throw new KindlingError('KND_BUILD_FAILED', 'this is not a 64-bit EFI program');
  const signaturesAt = program.readUInt32LE(table) || program.length;
  const hash = createHash('sha256')
    .update(program.subarray(0, optional + CHECKSUM))
    .update(program.subarray(optional + CHECKSUM + 4, table))
    .update(program.subarray(table + 8, signaturesAt));
  // Signers fill up to 8 bytes before they hash.
  return hash.update(Buffer.alloc(-signaturesAt & 7)).digest('hex');
}
