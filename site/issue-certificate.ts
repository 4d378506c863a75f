// @peculiar/x509's container needs this before it is loaded.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

cryptoProvider.set(webcrypto as Crypto);

// RSA and SHA-256 throughout: UEFI firmware and older iPXE builds cannot verify elliptic-curve certificates.
const ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', publicExponent: new Uint8Array([1, 0, 1]) };
const DAY_MS = 86_400_000;
/** Nodes without a clock battery may be a little behind. */
const BACKDATE_MS = DAY_MS;

/** Both PEM. */
export interface Certified {
  certificate: string;
  key: string;
}

/** What the holder of a certificate may do with its key. */
export type Purpose = 'authority' | 'server' | 'code-signing' | 'firmware';

export interface CertificateRequest {
  /** "CN=…, O=…" */
  subject: string;
  days: number;
  keyBits: 2048 | 3072;
  purpose: Purpose;
  /** Names and addresses of a server. */
  names?: readonly string[];
  /** How many CAs may stand below it; absent: it is no CA. */
  pathLength?: number;
  /** Itself, if absent. */
  issuer?: Certified;
}

/** A new key and a certificate for it. */
export async function issueCertificate(request: CertificateRequest): Promise<Certified> {
  const keys = await generateKeys(request.keyBits);
  const key = await exportKey(keys.privateKey);
  const certificate = await certify({
    ...request,
    publicKey: keys.publicKey,
    issuer: request.issuer ?? { key, certificate: '' },
  });
  return { certificate, key };
}

/** The same subject and key as this certificate's, vouched for by another CA, until that CA ends. */
export async function crossSign(certificate: string, issuer: Certified): Promise<string> {
  const subject = new X509Certificate(certificate);
  const until = new X509Certificate(issuer.certificate).notAfter.getTime();
  return certify({
    subject: subject.subject,
    days: (until - Date.now()) / DAY_MS,
    publicKey: await subject.publicKey.export(),
    purpose: 'authority',
    pathLength: 0,
    issuer,
  });
}

interface CertifyRequest extends Omit<CertificateRequest, 'keyBits'> {
  publicKey: CryptoKey;
  issuer: Certified;
}

async function certify(request: CertifyRequest): Promise<string> {
  const { issuer, publicKey } = request;
  const authority = issuer.certificate ? new X509Certificate(issuer.certificate) : undefined;
  const now = Date.now();
  const certificate = await X509CertificateGenerator.create({
    serialNumber: randomSerial(),
    subject: request.subject,
    issuer: authority?.subject ?? request.subject,
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + request.days * DAY_MS),
    signingAlgorithm: ALGORITHM,
    publicKey,
    signingKey: await importKey(issuer.key),
    extensions: [
      new BasicConstraintsExtension(request.pathLength !== undefined, request.pathLength, true),
      ...extensionsFor(request),
      await SubjectKeyIdentifierExtension.create(publicKey),
      ...(authority ? [await AuthorityKeyIdentifierExtension.create(authority.publicKey)] : []),
    ],
  });
  return certificate.toString('pem');
}

function extensionsFor({ purpose, names }: Pick<CertificateRequest, 'purpose' | 'names'>): Extension[] {
  const { digitalSignature, keyEncipherment, keyCertSign, cRLSign } = KeyUsageFlags;
  const usage = {
    authority: keyCertSign | cRLSign,
    server: digitalSignature | keyEncipherment,
    'code-signing': digitalSignature,
    firmware: digitalSignature,
  }[purpose];
  const extended = { server: ExtendedKeyUsage.serverAuth, 'code-signing': ExtendedKeyUsage.codeSigning };
  const alternatives = (names ?? []).map((name) => ({
    type: isAddress(name) ? ('ip' as const) : ('dns' as const),
    value: name,
  }));
  return [
    new KeyUsagesExtension(usage, true),
    ...(purpose === 'server' || purpose === 'code-signing'
      ? [new ExtendedKeyUsageExtension([extended[purpose]])]
      : []),
    ...(alternatives.length > 0 ? [new SubjectAlternativeNameExtension(alternatives)] : []),
  ];
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

async function importKey(pem: string): Promise<CryptoKey> {
  const bytes = PemConverter.decodeFirst(pem);
  return (await webcrypto.subtle.importKey('pkcs8', bytes, ALGORITHM, false, ['sign'])) as CryptoKey;
}

/** Positive, 128 bits, as browsers and firmware expect. */
function randomSerial(): string {
  const bytes = Buffer.from(webcrypto.getRandomValues(new Uint8Array(16)));
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.toString('hex');
}
