// @peculiar/x509's container needs this before it is loaded.
import 'reflect-metadata';
import { X509Certificate as NodeCertificate, webcrypto } from 'node:crypto';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { readIfPresent, writePrivate } from './state-folder.ts';

cryptoProvider.set(webcrypto as Crypto);

// RSA and SHA-256 throughout: UEFI firmware and older iPXE builds cannot verify elliptic-curve certificates.
const ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', publicExponent: new Uint8Array([1, 0, 1]) };
const CA_KEY_BITS = 3072;
const SERVER_KEY_BITS = 2048;
const DAY_MS = 86_400_000;
const CA_DAYS = 3650;
const SERVER_DAYS = 365;
const RENEW_BEFORE_DAYS = 30;
/** Nodes without a clock battery may be a little behind. */
const BACKDATE_MS = DAY_MS;

export interface SiteCertificates {
  /** The site's CA, PEM: what goes into the config archive, iPXE and the firmware. */
  ca: string;
  /** Server certificate followed by the CA. */
  chain: string;
  key: string;
}

/** The site's CA and server certificate from the state folder; made on first start, the server's renewed when needed. */
export async function openAuthority(
  folder: string,
  extraNames: readonly string[],
): Promise<SiteCertificates> {
  const caPath = join(folder, 'site-ca.crt');
  const caKeyPath = join(folder, 'site-ca.key');
  let ca = readIfPresent(caPath);
  let caKey = readIfPresent(caKeyPath);
  if (!ca || !caKey) {
    ({ certificate: ca, key: caKey } = await makeCa());
    writePrivate(caKeyPath, caKey);
    writePrivate(caPath, ca);
  }
  const names = [...new Set([...localNames(), ...extraNames])];
  const serverPath = join(folder, 'server.crt');
  const serverKeyPath = join(folder, 'server.key');
  let server = readIfPresent(serverPath);
  let key = readIfPresent(serverKeyPath);
  if (!server || !key || !isUsable(server, ca, names)) {
    ({ certificate: server, key } = await makeServerCertificate(ca, caKey, names));
    writePrivate(serverKeyPath, key);
    writePrivate(serverPath, server);
  }
  return { ca, chain: `${server}\n${ca}`, key };
}

async function makeCa(): Promise<{ certificate: string; key: string }> {
  const keys = await generateKeys(CA_KEY_BITS);
  const now = Date.now();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: randomSerial(),
    name: `CN=Kindling site CA ${new Date(now).toISOString().slice(0, 10)}, O=Kindling`,
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + CA_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
}

async function makeServerCertificate(
  ca: string,
  caKey: string,
  names: readonly string[],
): Promise<{ certificate: string; key: string }> {
  const issuer = new X509Certificate(ca);
  const signingKey = await webcrypto.subtle.importKey(
    'pkcs8',
    PemConverter.decodeFirst(caKey),
    ALGORITHM,
    false,
    ['sign'],
  );
  const keys = await generateKeys(SERVER_KEY_BITS);
  const now = Date.now();
  const certificate = await X509CertificateGenerator.create({
    serialNumber: randomSerial(),
    subject: `CN=${hostname().slice(0, 60)}, O=Kindling`,
    issuer: issuer.subject,
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + SERVER_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: signingKey as CryptoKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(
        names.map((name) => ({ type: isAddress(name) ? ('ip' as const) : ('dns' as const), value: name })),
      ),
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
}

function isUsable(server: string, ca: string, names: readonly string[]): boolean {
  const certificate = new NodeCertificate(server);
  const covered = certificate.subjectAltName ?? '';
  const isFresh = Date.parse(certificate.validTo) - Date.now() > RENEW_BEFORE_DAYS * DAY_MS;
  const isOurs = certificate.verify(new NodeCertificate(ca).publicKey);
  const entries = new Set(covered.split(', ').map((entry) => entry.replace(/^(DNS|IP Address):/, '')));
  // Node prints IPv6 addresses in full; a name that only differs in spelling costs one renewal, nothing more.
  return isFresh && isOurs && names.every((name) => name.includes(':') || entries.has(name));
}

/** Every name and address this machine answers to. */
function localNames(): string[] {
  const addresses = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter((entry) => !entry.address.startsWith('fe80:'))
    .map((entry) => entry.address);
  return ['localhost', hostname(), ...addresses];
}

function isAddress(name: string): boolean {
  return /^[\d.]+$/.test(name) || name.includes(':');
}

async function generateKeys(bits: number): Promise<webcrypto.CryptoKeyPair> {
  const algorithm = { ...ALGORITHM, modulusLength: bits };
  return (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
}

async function exportKey(key: CryptoKey): Promise<string> {
  const bytes = await webcrypto.subtle.exportKey('pkcs8', key as webcrypto.CryptoKey);
  return PemConverter.encode(bytes, 'PRIVATE KEY');
}

/** Positive, 128 bits, as browsers and firmware expect. */
function randomSerial(): string {
  const bytes = Buffer.from(webcrypto.getRandomValues(new Uint8Array(16)));
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.toString('hex');
}
