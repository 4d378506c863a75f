import { X509Certificate } from 'node:crypto';
import { guidToBytes } from '../formats/guid.ts';

/** The kind of signature list that holds X.509 certificates. UEFI 2.10, 32.4.1, EFI_CERT_X509_GUID. */
const X509_LIST = 'a5c059a1-94e4-4aa7-87b5-ab155c2bf072';
const LIST_HEADER_SIZE = 28;
const GUID_SIZE = 16;

/** Certificates as firmware keeps them in PK, KEK, db and TlsCaCertificate: one EFI_SIGNATURE_LIST for each. */
export function encodeSignatureLists(owner: string, certificates: readonly string[]): Buffer {
  return Buffer.concat(
    certificates.map((pem) => {
      const { raw } = new X509Certificate(pem);
      const header = Buffer.alloc(LIST_HEADER_SIZE);
      guidToBytes(X509_LIST).copy(header);
      header.writeUInt32LE(LIST_HEADER_SIZE + GUID_SIZE + raw.length, 16); // size of the list
      header.writeUInt32LE(0, 20); // size of a further header
      header.writeUInt32LE(GUID_SIZE + raw.length, 24); // size of a signature
      return Buffer.concat([header, guidToBytes(owner), raw]);
    }),
  );
}
