import { X509Certificate as NodeCertificate } from 'node:crypto';
import { rmSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { readIfThere } from '../system/read-if-there.ts';
import { type Certified, crossSign, issueCertificate } from './issue-certificate.ts';
import { writePrivate } from './state-folder.ts';

const DAY_MS = 86_400_000;
const CA_DAYS = 3650;
const SERVER_DAYS = 365;
const RENEW_BEFORE_DAYS = 30;
const FILES = {
  ca: 'site-ca.crt',
  caKey: 'site-ca.key',
  /** The CA before the last rotation, for as long as nodes may trust only that one. */
  previous: 'site-ca.previous.crt',
  /** The present CA, vouched for by the previous one. */
  cross: 'site-ca.cross.crt',
  server: 'server.crt',
  serverKey: 'server.key',
} as const;
type StateFile = (typeof FILES)[keyof typeof FILES];

export interface SiteCertificates {
  /** PEM of the CAs a node is to trust: what goes into the config archive, iPXE and the firmware. */
  ca: string;
  /** Server certificate followed by what leads to a CA that any node of the site trusts. */
  chain: string;
  key: string;
  /** Names and addresses the server certificate is good for. */
  names: string[];
}

/** The site's CA and server certificate from the state folder; made on first start, the server's renewed when needed. */
export async function openAuthority(
  folder: string,
  extraNames: readonly string[],
): Promise<SiteCertificates> {
  const at = (name: StateFile) => join(folder, name);
  const ca = await openCa(folder);
  let server = readIfThere(at(FILES.server));
  const names = [...new Set([...localNames(), ...extraNames, ...(server ? coveredNames(server) : [])])];
  let key = readIfThere(at(FILES.serverKey));
  if (!server || !key || !isUsable(server, ca.certificate, names)) {
    ({ certificate: server, key } = await makeServerCertificate(ca, names));
    writePrivate(at(FILES.serverKey), key);
    writePrivate(at(FILES.server), server);
  }
  const previous = readIfThere(at(FILES.previous));
  const link = readIfThere(at(FILES.cross)) ?? ca.certificate;
  return {
    ca: previous ? `${ca.certificate.trimEnd()}\n${previous}` : ca.certificate,
    chain: `${server}\n${link}`,
    key,
    names: coveredNames(server),
  };
}

/** The file that changes with every new server certificate. */
export function serverCertificateFile(folder: string): string {
  return join(folder, FILES.server);
}

/** The site's CA with its key; made on first use. */
export async function openCa(folder: string): Promise<Certified> {
  const certificate = readIfThere(join(folder, FILES.ca));
  const key = readIfThere(join(folder, FILES.caKey));
  if (certificate && key) return { certificate, key };
  const made = await makeCa();
  saveCa(folder, made);
  return made;
}

/**
 * A new CA. The old one vouches for it, so that nodes which know only the old one go on trusting the server, whose
 * certificate is now issued by the new one; nodes that boot from now on know both.
 */
export async function rotateCa(folder: string): Promise<void> {
  const old = await openCa(folder);
  const fresh = await makeCa();
  writePrivate(join(folder, FILES.previous), old.certificate);
  writePrivate(join(folder, FILES.cross), await crossSign(fresh.certificate, old));
  saveCa(folder, fresh);
}

/** A file that leads from the present CA to the one before it; undefined when no rotation overlaps. */
export function crossCertificateFile(folder: string): string | undefined {
  const file = join(folder, FILES.cross);
  return readIfThere(file) === undefined ? undefined : file;
}

/** From now on the CA before the last rotation is trusted no more. */
export function forgetPreviousCa(folder: string): void {
  for (const name of [FILES.previous, FILES.cross]) rmSync(join(folder, name), { force: true });
}

/** A key that signs boot files for an iPXE with image trust, and its certificate. */
export async function issueCodeSigner(ca: Certified): Promise<Certified> {
  return issueCertificate({
    subject: 'CN=Kindling boot files, O=Kindling',
    days: SERVER_DAYS,
    keyBits: 2048,
    issuer: ca,
    purpose: 'code-signing',
  });
}

function saveCa(folder: string, { certificate, key }: Certified): void {
  writePrivate(join(folder, FILES.caKey), key);
  writePrivate(join(folder, FILES.ca), certificate);
}

function makeCa(): Promise<Certified> {
  return issueCertificate({
    // The moment, because two CAs of one site must not have the same name.
    subject: `CN=Kindling site CA ${new Date().toISOString()}, O=Kindling`,
    days: CA_DAYS,
    keyBits: 3072,
    pathLength: 1, // below it may stand the CA of the next rotation
    purpose: 'authority',
  });
}

function makeServerCertificate(ca: Certified, names: readonly string[]): Promise<Certified> {
  return issueCertificate({
    subject: `CN=${hostname().slice(0, 60)}, O=Kindling`,
    days: SERVER_DAYS,
    keyBits: 2048,
    issuer: ca,
    purpose: 'server',
    names,
  });
}

function isUsable(server: string, ca: string, names: readonly string[]): boolean {
  const certificate = new NodeCertificate(server);
  const isFresh = Date.parse(certificate.validTo) - Date.now() > RENEW_BEFORE_DAYS * DAY_MS;
  const isOurs = certificate.verify(new NodeCertificate(ca).publicKey);
  const entries = new Set(coveredNames(server));
  // Node prints IPv6 addresses in full; a name that only differs in spelling costs one renewal, nothing more.
  return isFresh && isOurs && names.every((name) => name.includes(':') || entries.has(name));
}

/** What a server certificate is good for; every renewal keeps it. */
function coveredNames(server: string): string[] {
  const text = new NodeCertificate(server).subjectAltName ?? '';
  return text.split(', ').map((entry) => entry.replace(/^(DNS|IP Address):/, ''));
}

/** Every name and address this machine answers to. */
function localNames(): string[] {
  const addresses = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter((entry) => !entry.address.startsWith('fe80:'))
    .map((entry) => entry.address);
  return ['localhost', hostname(), ...addresses];
}
