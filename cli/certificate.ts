import { createHash, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { isGenuine, type SignedCertificate } from '../protocol/erasure-certificate.ts';
import { KindlingError } from '../protocol/error.ts';

/** `kindling certificate …`: what the erasure of a disk left in writing. */
export function defineCertificate(command: Command): void {
  command
    .command('verify <file>')
    .description(
      'check certificates of erasure: a result, a certificate, or the log of a node («-»: from standard input)',
    )
    .option('--key <file>', 'PEM of the public key that must have signed them')
    .action(verifyFile);
}

function verifyFile(file: string, options: { key?: string }): void {
  const text = readFileSync(file === '-' ? 0 : file, 'utf8');
  const certificates = findCertificates(text);
  if (certificates.length === 0) {
    throw new KindlingError('KND_CERTIFICATE_INVALID', `${file} holds no certificate of erasure`);
  }
  const wanted = options.key === undefined ? undefined : keyId(readFileSync(options.key, 'utf8'));
  const wrong = certificates.filter((each) => whyNot(each, wanted) !== undefined);
  for (const each of certificates) console.log(describe(each, whyNot(each, wanted)));
  if (wrong.length > 0) {
    throw new KindlingError(
      'KND_CERTIFICATE_INVALID',
      `${wrong.length} of ${certificates.length} certificates cannot be believed`,
    );
  }
}

function whyNot(signed: SignedCertificate, wantedKey: string | undefined): string | undefined {
  if (!isGenuine(signed)) return 'was changed after it was signed, or never signed';
  if (wantedKey !== undefined && keyId(signed.publicKey) !== wantedKey) return 'was signed by another key';
  return undefined;
}

function describe(signed: SignedCertificate, problem: string | undefined): string {
  const { disk, method, nistClass, finishedAt, samples, isProved } = signed.certificate;
  const what = `${disk.serial ?? disk.path} (${disk.model ?? 'unknown model'}), ${method}, ${finishedAt}`;
  if (problem) return `NOT GENUINE  ${what}: ${problem}`;
  const proof = isProved ? `all ${samples.length} samples gone` : 'nothing proved';
  return `genuine  ${what}: NIST 800-88 ${nistClass}, ${proof}; signed by ${keyId(signed.publicKey)}`;
}

/** A short name for a public key: the first half of the SHA-256 of its DER. */
function keyId(pem: string): string {
  try {
    const der = createPublicKey(pem).export({ type: 'spki', format: 'der' });
    return createHash('sha256').update(der).digest('hex').slice(0, 32);
  } catch (cause) {
    throw new KindlingError('KND_CERTIFICATE_INVALID', 'that is no public key (PEM)', { cause });
  }
}

/** Every signed certificate anywhere in JSON or in lines of JSON; logs carry them as texts. */
export function findCertificates(text: string): SignedCertificate[] {
  const whole = parsed(text);
  const documents = whole === undefined ? text.split('\n').map(parsed) : [whole];
  return documents.flatMap(inside);
}

function inside(value: unknown): SignedCertificate[] {
  if (typeof value === 'string') return value.startsWith('{') ? inside(parsed(value)) : [];
  if (typeof value !== 'object' || value === null) return [];
  if ('certificate' in value && 'signature' in value && typeof value.certificate === 'object') {
    return [value as SignedCertificate];
  }
  return Object.values(value).flatMap(inside);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
