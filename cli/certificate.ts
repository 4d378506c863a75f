import { createHash, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { isGenuine } from '../protocol/check-certificate.ts';
import type { SignedCertificate } from '../protocol/erasure-certificate.ts';
import { KindlingError } from '../protocol/error.ts';
import { findCertificates } from '../protocol/find-certificates.ts';
import { printable } from './table.ts';

/** `kindling certificate …`: what the erasure of a disk left in writing. */
export function defineCertificate(command: Command): void {
  command
    .command('verify <file>')
    .description(
      'check certificates of erasure: a result, a certificate, or the log of a node (“-”: from standard input)',
    )
    .option(
      '--key <file>',
      'PEM of the public key that must have signed them; without it nothing is proved, and the command ends with 4',
    )
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
  for (const each of certificates) console.log(printable(describe(each, whyNot(each, wanted))));
  if (wrong.length > 0) {
    throw new KindlingError(
      'KND_CERTIFICATE_INVALID',
      `${wrong.length} of ${certificates.length} certificates cannot be believed`,
    );
  }
}

interface Doubt {
  verdict: 'NOT GENUINE' | 'SELF-SIGNED, UNPROVEN';
  reason: string;
}

/** Anybody can make a key and sign with it: only a key that is known from elsewhere proves something. */
function whyNot(signed: SignedCertificate, wantedKey: string | undefined): Doubt | undefined {
  if (!isGenuine(signed))
    return { verdict: 'NOT GENUINE', reason: 'was changed after it was signed, or never signed' };
  const signer = keyId(signed.publicKey);
  if (wantedKey === undefined)
    return {
      verdict: 'SELF-SIGNED, UNPROVEN',
      reason: `signed by ${signer}, and no --key says whose that is`,
    };
  return signer === wantedKey ? undefined : { verdict: 'NOT GENUINE', reason: 'was signed by another key' };
}

function describe(signed: SignedCertificate, doubt: Doubt | undefined): string {
  const { disk, method, nistClass, finishedAt, samples, isProved } = signed.certificate;
  const what = `${disk.serial ?? disk.path} (${disk.model ?? 'unknown model'}), ${method}, ${finishedAt}`;
  if (doubt) return `${doubt.verdict}  ${what}: ${doubt.reason}`;
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
