import 'reflect-metadata';
import { createPrivateKey, webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { ReferenceFile } from './reference-cloud-init.ts';

const FOLDER = '/var/lib/rancher/k3s/server/tls';
const TEN_YEARS_MS = 10 * 365.25 * 24 * 3600 * 1000;

/** The three authorities that cluster-api-k3s gives the first server: six files, in its order. */
export async function makeClusterCertificates(now: Date): Promise<ReferenceFile[]> {
  const files: ReferenceFile[] = [];
  for (const name of ['server-ca', 'client-ca', 'etcd/server-ca']) {
    const { certificate, key } = await makeAuthority(now);
    files.push({
      path: `${FOLDER}/${name}.crt`,
      owner: 'root:root',
      permissions: '0640',
      content: certificate,
    });
    files.push({ path: `${FOLDER}/${name}.key`, owner: 'root:root', permissions: '0600', content: key });
  }
  return files;
}

async function makeAuthority(now: Date): Promise<{ certificate: string; key: string }> {
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=kubernetes',
    keys,
    notBefore: now,
    notAfter: new Date(now.getTime() + TEN_YEARS_MS),
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(
        KeyUsageFlags.keyCertSign | KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment,
        true,
      ),
    ],
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  // As Go's encoders write them: PKCS #1 for RSA keys, and a line break at the end.
  return {
    certificate: `${certificate.toString('pem').trimEnd()}\n`,
    key: key.export({ type: 'pkcs1', format: 'pem' }).toString(),
  };
}
