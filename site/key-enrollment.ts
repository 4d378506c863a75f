import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { EFI_GLOBAL_GUID } from '../formats/efi/variables.ts';
import { guidToBytes } from '../formats/guid.ts';
import type { SigningKey } from '../initrd/micro-os/sign-efi.ts';
import { KindlingError } from '../protocol/error.ts';
import { signDetached } from './detached-signature.ts';
import type { SecureBootKeyName, SecureBootKeys } from './secure-boot-keys.ts';
import type { SignOnce } from './sign-once.ts';
import { encodeHashList, encodeSignatureLists } from './signature-list.ts';

/** The site's keys, and what is forbidden although they signed it. */
type VariableName = SecureBootKeyName | 'dbx';

/** UEFI 2.10, 32.6.1 and 3.3: whose variables PK and KEK, and db and dbx, are. */
const VARIABLE_GUID: Record<VariableName, string> = {
  PK: EFI_GLOBAL_GUID,
  KEK: EFI_GLOBAL_GUID,
  db: 'd719b2cb-3d3a-4596-a3bc-dad00e67656f',
  dbx: 'd719b2cb-3d3a-4596-a3bc-dad00e67656f',
};
/** Non-volatile, boot service access, run-time access, time-based authenticated write access. */
const ATTRIBUTES = 0x27;
/** A revocation is added to those of others, such as Microsoft's; it replaces none. */
const APPEND = 0x40;
const PKCS7_GUID = '4aafd29d-68df-49ee-8aa9-347d375665a7';
const WIN_CERTIFICATE = { headerSize: 24, revision: 0x0200, type: 0x0ef1 };

/**
 * What a technician or a script enrolls in a machine's firmware: for PK, KEK and db the certificate (.der, for set-up menus),
 * the signature list (.esl) and the signed update (.auth, for SetVariable; it must be later than the one before it, so it is new only when the list is); dbx, once something was revoked; and the CAs for HTTPS boot.
 */
export async function keyEnrollmentFiles(
  keys: SecureBootKeys,
  siteCas: string,
  once: SignOnce,
): Promise<Map<string, Buffer | string>> {
  const files = new Map<string, Buffer | string>();
  const signers: Record<SecureBootKeyName, SigningKey> = { PK: keys.PK, KEK: keys.PK, db: keys.KEK };
  const time = encodeTime(new Date());
  for (const name of ['PK', 'KEK', 'db'] as const) {
    const certificates = [keys[name]].flat().map(({ certificate }) => readFileSync(certificate, 'utf8'));
    const vendors = name === 'db' ? keys.vendors : [];
    const list = encodeSignatureLists(keys.owner, [...certificates, ...vendors]);
    files.set(`keys/${name}.der`, new X509Certificate(certificates[0] ?? '').raw);
    files.set(`keys/${name}.esl`, list);
    const update = `keys/${name}.auth`;
    const signer = signers[name];
    const make = () => signUpdate(name, list, signer, time);
    files.set(update, await once.sign(update, { bytes: list, signers: [signer] }, make));
  }
  const revoked = Buffer.concat([
    encodeSignatureLists(keys.owner, keys.revoked.certificates),
    encodeHashList(keys.owner, keys.revoked.programs),
  ]);
  if (revoked.length > 0) {
    const make = () => signUpdate('dbx', revoked, keys.KEK, time);
    files.set('keys/dbx.esl', revoked);
    files.set(
      'keys/dbx.auth',
      await once.sign('keys/dbx.auth', { bytes: revoked, signers: [keys.KEK] }, make),
    );
  }
  const cas = splitPem(siteCas);
  files.set('keys/Full_server.crt', siteCas);
  files.set('keys/tls-ca.esl', encodeSignatureLists(keys.owner, cas));
  return files;
}

/** EFI_VARIABLE_AUTHENTICATION_2 (UEFI 2.10, 8.2.6), then the new value. */
async function signUpdate(
  name: VariableName,
  value: Buffer,
  signer: SigningKey,
  time: Buffer,
): Promise<Buffer> {
  const attributes = Buffer.alloc(4);
  attributes.writeUInt32LE(name === 'dbx' ? ATTRIBUTES | APPEND : ATTRIBUTES);
  const signed = [Buffer.from(name, 'utf16le'), guidToBytes(VARIABLE_GUID[name]), attributes, time, value];
  const signature = withoutContentInfo(await signDetached(Buffer.concat(signed), signer));
  const header = Buffer.alloc(8);
  header.writeUInt32LE(WIN_CERTIFICATE.headerSize + signature.length, 0);
  header.writeUInt16LE(WIN_CERTIFICATE.revision, 4);
  header.writeUInt16LE(WIN_CERTIFICATE.type, 6);
  return Buffer.concat([time, header, guidToBytes(PKCS7_GUID), signature, value]);
}

/** Older firmware takes only the inner SignedData: behind a sequence header, an object identifier and a tag. */
function withoutContentInfo(signature: Buffer): Buffer {
  const innerAt = 19;
  const isLong = signature[0] === 0x30 && signature[1] === 0x82 && signature[15] === 0xa0;
  if (!isLong) throw new KindlingError('KND_BUILD_FAILED', 'openssl gave no PKCS #7 signature');
  return signature.subarray(innerAt);
}

/** EFI_TIME (UEFI 2.10, 8.3): an update must be later than the one before it; the rest of the fields must be 0. */
function encodeTime(now: Date): Buffer {
  const time = Buffer.alloc(16);
  time.writeUInt16LE(now.getUTCFullYear(), 0);
  const parts = [now.getUTCMonth() + 1, now.getUTCDate(), now.getUTCHours(), now.getUTCMinutes()];
  for (const [index, part] of [...parts, now.getUTCSeconds()].entries()) time[2 + index] = part;
  return time;
}

function splitPem(pem: string): string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
}
