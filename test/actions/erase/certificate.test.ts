import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { certify, isGenuine, signCertificate } from '../../../actions/erase/certificate.ts';

const facts = {
  disk: { path: '/dev/sda', sizeBytes: 5, serial: 'S' },
  method: 'zeroes' as const,
  startedAt: '2026-01-01T00:00:00.000Z',
  finishedAt: '2026-01-01T00:00:01.000Z',
  isBlank: true,
};
const sample = { offset: 0, sha256: 'a' };

describe('a certificate of erasure', () => {
  it('claims the class of the method only if every sample was gone', () => {
    expect(certify({ ...facts, samples: [{ ...sample, found: 'zeros' }] })).toMatchObject({
      nistClass: 'clear',
      isProved: true,
    });
    expect(certify({ ...facts, samples: [{ ...sample, found: 'unchanged' }] })).toMatchObject({
      nistClass: 'none',
    });
    expect(certify({ ...facts, samples: [] })).toMatchObject({ nistClass: 'none', isProved: false });
    expect(certify({ ...facts, method: 'quick', samples: [{ ...sample, found: 'zeros' }] })).toMatchObject({
      nistClass: 'none',
    });
  });

  it('is signed, verifies after its keys were reordered, and not after a change', () => {
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const signed = signCertificate(certify({ ...facts, samples: [{ ...sample, found: 'zeros' }] }), pem);
    const reordered = Object.fromEntries(
      Object.entries(signed.certificate).reverse(),
    ) as typeof signed.certificate;
    expect(isGenuine(signed)).toBe(true);
    expect(isGenuine({ ...signed, certificate: reordered })).toBe(true);
    expect(isGenuine({ ...signed, certificate: { ...signed.certificate, method: 'overwrite' } })).toBe(false);
  });
});
