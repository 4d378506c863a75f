// @peculiar/x509's container needs this before it is loaded.
import 'reflect-metadata';
import { createPublicKey, generateKeyPairSync, type KeyObject, webcrypto } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BasicConstraintsExtension, type X509Certificate, X509CertificateGenerator } from '@peculiar/x509';
import { beforeAll, expect, test } from 'vitest';
import { VendorCertificates } from '../../../orchestrator-stub/proof/vendor-certificates.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const NOW = new Date('2026-06-01');

interface Holder {
  certificate: X509Certificate;
  keys: webcrypto.CryptoKeyPair;
}

/** A certificate for a new key; by itself where there is no issuer. */
async function certify(name: string, issuer: Holder | undefined, isCa: boolean): Promise<Holder> {
  const keys = (await webcrypto.subtle.generateKey(ALGORITHM, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const certificate = await X509CertificateGenerator.create(
    {
      subject: `CN=${name}`,
      issuer: issuer?.certificate.subject ?? `CN=${name}`,
      notBefore: new Date('2026-01-01'),
      notAfter: new Date('2027-01-01'),
      publicKey: keys.publicKey,
      signingKey: (issuer?.keys ?? keys).privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: [new BasicConstraintsExtension(isCa)],
    },
    webcrypto as Crypto,
  );
  return { certificate, keys };
}

const derOf = ({ certificate }: Holder) => new Uint8Array(certificate.rawData);
const keyOf = ({ certificate }: Holder): KeyObject =>
  createPublicKey({ key: Buffer.from(certificate.publicKey.rawData), format: 'der', type: 'spki' });

let root: Holder;
let middle: Holder;
let ek: Holder;

beforeAll(async () => {
  root = await certify('Maker Root', undefined, true);
  middle = await certify('Maker TPM CA', root, true);
  ek = await certify('TPM', middle, false);
});

const trusting = (holders: readonly Holder[], now = NOW) =>
  new VendorCertificates(
    holders.map(({ certificate }) => certificate),
    () => now,
  );

test('a chain up to a root that the site has certifies the key it was made for', async () => {
  expect(await trusting([root, middle]).certifierOf(derOf(ek), keyOf(ek))).toBe('CN=Maker Root');
});

test('another key with the same certificate is not certified', async () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  expect(await trusting([root, middle]).certifierOf(derOf(ek), publicKey)).toBeUndefined();
});

test('a gap in the chain, a root of the same name, and no certificate at all certify nothing', async () => {
  const imposter = await certify('Maker Root', undefined, true);
  expect(await trusting([root]).certifierOf(derOf(ek), keyOf(ek))).toBeUndefined();
  expect(await trusting([middle]).certifierOf(derOf(ek), keyOf(ek))).toBeUndefined();
  expect(await trusting([imposter, middle]).certifierOf(derOf(ek), keyOf(ek))).toBeUndefined();
  expect(await trusting([root, middle]).certifierOf(new Uint8Array(), keyOf(ek))).toBeUndefined();
});

test('what is no CA certifies nobody, and nothing is certified after its time', async () => {
  const noCa = await certify('Maker TPM CA', root, false);
  const below = await certify('TPM', noCa, false);
  expect(await trusting([root, noCa]).certifierOf(derOf(below), keyOf(below))).toBeUndefined();
  const late = trusting([root, middle], new Date('2028-01-01'));
  expect(await late.certifierOf(derOf(ek), keyOf(ek))).toBeUndefined();
});

test('a folder with PEM and DER is read, and a file that is no certificate is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-ek-ca-'));
  try {
    writeFileSync(join(folder, 'root.pem'), root.certificate.toString('pem'));
    writeFileSync(join(folder, 'middle.der'), derOf(middle));
    writeFileSync(join(folder, 'README'), 'not looked at');
    const read = VendorCertificates.read(folder, () => NOW);
    expect(await read.certifierOf(derOf(ek), keyOf(ek))).toBe('CN=Maker Root');
    writeFileSync(join(folder, 'broken.crt'), 'nonsense');
    expect(() => VendorCertificates.read(folder, () => NOW)).toThrow(/broken\.crt is no certificate/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
