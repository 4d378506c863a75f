import { X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { programDigest } from '../initrd/micro-os/program-digest.ts';
import { writePrivate } from './state-folder.ts';

/** What firmware is to refuse although it bears a signature of the site: the contents of dbx. */
export interface Revocations {
  /** PEM of retired keys: nothing they ever signed starts. */
  certificates: string[];
  /** Authenticode SHA-256 of single programs, hexadecimal. */
  programs: string[];
}

const CERTIFICATE = '.crt';
const PROGRAM = '.sha256';

/** A folder with a file for each revocation, named by its hash. */
export function readRevocations(folder: string): Revocations {
  const names = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  const certificates = names.filter((name) => name.endsWith(CERTIFICATE));
  const programs = names.filter((name) => name.endsWith(PROGRAM));
  return {
    certificates: certificates.map((name) => readFileSync(join(folder, name), 'utf8')),
    programs: programs.map((name) => name.slice(0, -PROGRAM.length)),
  };
}

export function revokeCertificate(folder: string, pem: string): void {
  const { fingerprint256 } = new X509Certificate(pem);
  writePrivate(join(folder, `${fingerprint256.replaceAll(':', '').toLowerCase()}${CERTIFICATE}`), pem);
}

/** `name` is for people who look into the folder. */
export function revokeProgram(folder: string, name: string, program: Buffer): void {
  writePrivate(join(folder, `${programDigest(program)}${PROGRAM}`), `${name}\n`);
}
