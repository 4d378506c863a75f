// @peculiar/x509's container needs this before it is loaded.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

cryptoProvider.set(webcrypto as Crypto);
// Elliptic curves: a key in a millisecond instead of half a second.
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const HOUR_MS = 3_600_000;

export interface Certificate {
  cert: string;
  key: string;
}

export interface TestCa {
  pem: string;
  /** A server certificate; for 127.0.0.1 and localhost, valid from an hour ago for a day, unless told otherwise. */
  issue(options?: { names?: string[]; notBefore?: Date; notAfter?: Date }): Promise<Certificate>;
}

export async function createTestCa(name = 'Test CA'): Promise<TestCa> {
  const keys = (await webcrypto.subtle.generateKey(ALGORITHM, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const ca = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: `CN=${name}`,
    notBefore: new Date(Date.now() - 1000 * HOUR_MS),
    notAfter: new Date(Date.now() + 1000 * HOUR_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
    ],
  });
  return {
    pem: ca.toString('pem'),
    async issue({ names = ['127.0.0.1', 'localhost'], notBefore, notAfter } = {}) {
      const own = (await webcrypto.subtle.generateKey(ALGORITHM, true, [
        'sign',
        'verify',
      ])) as webcrypto.CryptoKeyPair;
      const certificate = await X509CertificateGenerator.create({
        serialNumber: '02',
        subject: `CN=${names[0]}`,
        issuer: ca.subject,
        notBefore: notBefore ?? new Date(Date.now() - HOUR_MS),
        notAfter: notAfter ?? new Date(Date.now() + 24 * HOUR_MS),
        signingAlgorithm: ALGORITHM,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new SubjectAlternativeNameExtension(
            names.map((value) => ({
              type: /^[\d.]+$/.test(value) ? ('ip' as const) : ('dns' as const),
              value,
            })),
          ),
        ],
      });
      const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', own.privateKey);
      return { cert: certificate.toString('pem'), key: PemConverter.encode(pkcs8, 'PRIVATE KEY') };
    },
  };
}
