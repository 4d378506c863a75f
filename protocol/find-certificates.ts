import type { SignedCertificate } from './erasure-certificate.ts';

/** Every signed certificate anywhere in JSON or in lines of JSON; logs carry them as texts. */
export function findCertificates(text: string): SignedCertificate[] {
  const whole = parsed(text);
  const documents = whole === undefined ? text.split('\n').map(parsed) : [whole];
  return documents.flatMap(certificatesIn);
}

/** Those in one JSON value, at any depth. */
export function certificatesIn(value: unknown): SignedCertificate[] {
  if (typeof value === 'string') return value.startsWith('{') ? certificatesIn(parsed(value)) : [];
  if (typeof value !== 'object' || value === null) return [];
  if ('certificate' in value && 'signature' in value && typeof value.certificate === 'object') {
    return [value as SignedCertificate];
  }
  return Object.values(value).flatMap(certificatesIn);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
