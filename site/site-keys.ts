import type { KeyObject } from 'node:crypto';
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import type { SigningKey } from '../initrd/micro-os/sign-efi.ts';
import { readIfThere } from '../system/read-if-there.ts';
import { forgetPreviousArchiveKey, openArchiveKeys, rotateArchiveKey } from './archive-key.ts';
import {
  crossCertificateFile,
  forgetPreviousCa,
  issueCodeSigner,
  openAuthority,
  openCa,
  rotateCa,
} from './authority.ts';
import {
  forgetPreviousSecureBootKey,
  openSecureBootKeys,
  rotateSecureBootKey,
  type SecureBootKeys,
} from './secure-boot-keys.ts';
import { openStateFolder, writePrivate } from './state-folder.ts';

/** Every key that goes into a site's boot files. Made once, kept in the state folder, rotated on command. */
export interface SiteKeys {
  /** PEM of the CAs nodes trust. */
  ca: string;
  secureBoot: SecureBootKeys;
  /** Newest first; the newest is the one nodes are told. */
  archive: KeyObject[];
  /** For iPXE's image trust; `chain` leads to the CA before a rotation, which an older iPXE has inside. */
  codeSigner: SigningKey & { chain: string | undefined };
  /** File that tells what was signed with which key (sign-once.ts). */
  signingNotes: string;
  /** File with the versions that were given out (editions.ts). */
  editions: string;
}

export const ROTATABLE = ['tls', 'secure-boot', 'archive'] as const;
export type Rotatable = (typeof ROTATABLE)[number];

const RENEW_BEFORE_MS = 30 * 86_400_000;

const ROTATE: Record<Rotatable, (stateFolder: string) => Promise<void> | void> = {
  tls: rotateCa,
  'secure-boot': rotateSecureBootKey,
  archive: rotateArchiveKey,
};
const FORGET: Record<Rotatable, (stateFolder: string) => void> = {
  tls: forgetPreviousCa,
  'secure-boot': forgetPreviousSecureBootKey,
  archive: forgetPreviousArchiveKey,
};

export async function openSiteKeys(stateFolder: string, names: readonly string[] = []): Promise<SiteKeys> {
  openStateFolder(stateFolder);
  return {
    ca: (await openAuthority(stateFolder, names)).ca,
    secureBoot: await openSecureBootKeys(stateFolder),
    archive: openArchiveKeys(stateFolder),
    codeSigner: { ...(await openCodeSigner(stateFolder)), chain: crossCertificateFile(stateFolder) },
    signingNotes: join(stateFolder, 'secure-boot', 'signed.json'),
    editions: join(stateFolder, 'editions.json'),
  };
}

/** A new key of this kind; the old one stays good until `forgetPreviousKey`, so that nothing that runs is cut off. */
export async function rotateKey(stateFolder: string, kind: Rotatable): Promise<void> {
  openStateFolder(stateFolder);
  await openSiteKeys(stateFolder);
  await ROTATE[kind](stateFolder);
}

export function forgetPreviousKey(stateFolder: string, kind: Rotatable): void {
  FORGET[kind](stateFolder);
}

async function openCodeSigner(stateFolder: string): Promise<SigningKey> {
  const files = {
    key: join(stateFolder, 'boot-files.key'),
    certificate: join(stateFolder, 'boot-files.crt'),
  };
  const ca = await openCa(stateFolder);
  const kept = readIfThere(files.certificate);
  const isGood =
    kept &&
    readIfThere(files.key) &&
    new X509Certificate(kept).verify(new X509Certificate(ca.certificate).publicKey) &&
    Date.parse(new X509Certificate(kept).validTo) > Date.now() + RENEW_BEFORE_MS;
  if (isGood) return files;
  const { certificate, key } = await issueCodeSigner(ca);
  writePrivate(files.key, key);
  writePrivate(files.certificate, certificate);
  return files;
}
