// @peculiar/x509's container needs this before it is loaded.
import 'reflect-metadata';
import { createPublicKey, webcrypto } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { BasicConstraintsExtension, X509CertificateGenerator } from '@peculiar/x509';
import { ENDORSEMENT_KEYS } from '../../formats/tpm/templates.ts';
import type { SoftwareTpm } from '../../lab/tpm/software-tpm.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 24 * 3600 * 1000;

/** Keeps the endorsement key in the TPM, as makers do: one that is made anew for every proof takes its time. */
export async function keepEndorsementKey(tpm: SoftwareTpm): Promise<void> {
  await tpm.tool('tpm2_createek', '-G', 'rsa', '-c', '0x81010001', '-u', 'ek.pem', '-f', 'pem');
  await tpm.tool('tpm2_flushcontext', '-t');
}

/** Puts a maker's certificate for the kept endorsement key into the TPM. Gives the certificate of the maker's CA as PEM. */
export async function certifyTpm(tpm: SoftwareTpm): Promise<string> {
  const keys = (await webcrypto.subtle.generateKey(ALGORITHM, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const endorsementKey = await webcrypto.subtle.importKey(
    'spki',
    createPublicKey(readFileSync(tpm.path('ek.pem'))).export({ type: 'spki', format: 'der' }),
    { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    true,
    ['verify'],
  );
  const common = {
    issuer: 'CN=Maker Root',
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
    signingKey: keys.privateKey,
    signingAlgorithm: ALGORITHM,
  };
  const [authority, certificate] = await Promise.all(
    [
      { subject: 'CN=Maker Root', publicKey: keys.publicKey, isCa: true },
      { subject: 'CN=TPM', publicKey: endorsementKey, isCa: false },
    ].map(({ isCa, ...of }) =>
      X509CertificateGenerator.create(
        { ...common, ...of, extensions: [new BasicConstraintsExtension(isCa)] },
        webcrypto as Crypto,
      ),
    ),
  );
  if (!authority || !certificate) throw new Error('no certificate was made');
  const der = Buffer.from(certificate.rawData);
  const index = `0x${ENDORSEMENT_KEYS.rsa.certificateIndex.toString(16)}`;
  writeFileSync(tpm.path('ek.der'), der);
  const attributes = 'ownerread|authread|ownerwrite|no_da';
  await tpm.tool('tpm2_nvdefine', index, '-C', 'o', '-s', String(der.length), '-a', attributes);
  await tpm.tool('tpm2_nvwrite', index, '-C', 'o', '-i', 'ek.der');
  return authority.toString('pem');
}
