import { X509Certificate } from 'node:crypto';
import { guidToBytes } from '../formats/guid.ts';

/** The kind of signature list that holds X.509 certificates. UEFI 2.10, 32.4.1, EFI_CERT_X509_GUID. */
const X509_LIST = 'a5c059a1-94e4-4aa7-87b5-ab155c2bf072';
/** The kind that holds SHA-256 hashes of programs: EFI_CERT_SHA256_GUID. */
const SHA256_LIST = 'c1c41626-504c-4092-aca9-41f936934328';
const LIST_HEADER_SIZE = 28;
const GUID_SIZE = 16;

/** Certificates as firmware keeps them in PK, KEK, db and TlsCaCertificate: one EFI_SIGNATURE_LIST for each. */
export function encodeSignatureLists(owner: string, certificates: readonly string[]): Buffer {
  return Buffer.concat(
    certificates.map((pem) => encodeList(X509_LIST, owner, [new X509Certificate(pem).raw])),
  );
}

/** Hashes of programs (hexadecimal) as firmware keeps them in dbx: all in one EFI_SIGNATURE_LIST. */
export function encodeHashList(owner: string, hashes: readonly string[]): Buffer {
  if (hashes.length === 0) return Buffer.alloc(0);
  return encodeList(
    SHA256_LIST,
    owner,
    hashes.map((hash) => Buffer.from(hash, 'hex')),
  );
}

/** Everything in one list is of one size. */
function encodeList(kind: string, owner: string, entries: readonly Buffer[]): Buffer {
  const entrySize = GUID_SIZE + (entries[0]?.length ?? 0);
  const header = Buffer.alloc(LIST_HEADER_SIZE);
  guidToBytes(kind).copy(header);
  header.writeUInt32LE(LIST_HEADER_SIZE + entrySize * entries.length, 16); // size of the list
  header.writeUInt32LE(0, 20); // size of a further header
  header.writeUInt32LE(entrySize, 24); // size of a signature
  return Buffer.concat([header, ...entries.flatMap((entry) => [guidToBytes(owner), entry])]);
}
