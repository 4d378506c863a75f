import { randomUUID, X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { SigningKey } from '../initrd/micro-os/sign-efi.ts';
import { KindlingError } from '../protocol/error.ts';
import { readIfThere } from '../system/read-if-there.ts';
import { issueCertificate } from './issue-certificate.ts';
import { type Revocations, readRevocations, revokeCertificate } from './revocations.ts';
import { writePrivate } from './state-folder.ts';

/** Platform key, key exchange key, signature database: UEFI 2.10, 32.3. */
export type SecureBootKeyName = 'PK' | 'KEK' | 'db';

/** The site's Secure Boot keys. Firmware that has these enrolled starts what the site or one of its vendors signed, and nothing else. */
export interface SecureBootKeys {
  /** Names the site in signature lists. */
  owner: string;
  PK: SigningKey;
  KEK: SigningKey;
  /** The present key, then the one before the last rotation: both sign, so machines with either one enrolled boot. */
  db: SigningKey[];
  /** PEM of the signers of the systems that are installed here: enrolled in db beside the site's own keys. */
  vendors: string[];
  /** What is to be refused from now on, for dbx. */
  revoked: Revocations;
  /** Where further revocations are put. */
  revokedFolder: string;
}

const DAYS = 3650;
const FOLDER = 'secure-boot';
const VENDORS = 'vendors';
const REVOKED = 'revoked';

/** The keys in the state folder; made on first use and kept, because machines have them in their firmware. */
export async function openSecureBootKeys(stateFolder: string): Promise<SecureBootKeys> {
  const folder = join(stateFolder, FOLDER);
  const previous = filesOf(folder, 'db.previous');
  return {
    owner: openOwner(folder),
    PK: await openKey(folder, 'PK'),
    KEK: await openKey(folder, 'KEK'),
    db: [await openKey(folder, 'db'), ...(readIfThere(previous.key) ? [previous] : [])],
    vendors: readVendors(join(folder, VENDORS)),
    revoked: readRevocations(join(folder, REVOKED)),
    revokedFolder: join(folder, REVOKED),
  };
}

/** Keeps a vendor's certificate (PEM or DER) for the site's db; firmware gets it with the next enrollment. */
export function trustVendor(stateFolder: string, file: string): void {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(readFileSync(file));
  } catch (cause) {
    throw new KindlingError('KND_USAGE', `${file} is no certificate`, { cause });
  }
  const name = certificate.fingerprint256.replaceAll(':', '').toLowerCase().slice(0, 16);
  writePrivate(join(stateFolder, FOLDER, VENDORS, `${name}.crt`), certificate.toString());
}

function readVendors(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .toSorted()
    .map((name) => readFileSync(join(folder, name), 'utf8'));
}

/** A new db key, for which machines are to be enrolled; PK and KEK stay, so db.auth is accepted without a visit. */
export async function rotateSecureBootKey(stateFolder: string): Promise<void> {
  const folder = join(stateFolder, FOLDER);
  const old = await openKey(folder, 'db');
  const previous = filesOf(folder, 'db.previous');
  renameSync(old.certificate, previous.certificate);
  renameSync(old.key, previous.key);
  await openKey(folder, 'db');
}

/** Its certificate goes to dbx: a machine that still has it in db starts nothing that it signed. */
export function forgetPreviousSecureBootKey(stateFolder: string): void {
  const folder = join(stateFolder, FOLDER);
  const { key, certificate } = filesOf(folder, 'db.previous');
  const retired = readIfThere(certificate);
  if (retired) revokeCertificate(join(folder, REVOKED), retired);
  for (const file of [key, certificate]) rmSync(file, { force: true });
}

async function openKey(folder: string, name: SecureBootKeyName): Promise<SigningKey> {
  const files = filesOf(folder, name);
  if (readIfThere(files.key) && readIfThere(files.certificate)) return files;
  const { certificate, key } = await issueCertificate({
    subject: `CN=Kindling Secure Boot ${name} ${new Date().toISOString()}, O=Kindling`,
    days: DAYS,
    keyBits: 2048, // what every firmware can verify
    purpose: 'firmware',
  });
  writePrivate(files.key, key);
  writePrivate(files.certificate, certificate);
  return files;
}

function openOwner(folder: string): string {
  const path = join(folder, 'owner');
  const kept = readIfThere(path)?.trim();
  if (kept) return kept;
  const owner = randomUUID();
  writePrivate(path, `${owner}\n`);
  return owner;
}

function filesOf(folder: string, name: string): SigningKey {
  return { key: join(folder, `${name}.key`), certificate: join(folder, `${name}.crt`) };
}
