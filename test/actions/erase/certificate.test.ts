import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { certify, signCertificate, signingKey } from '../../../actions/erase/certificate.ts';
import { isGenuine } from '../../../protocol/check-certificate.ts';
import { toErrorReport } from '../../../protocol/error.ts';

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
    const signed = signCertificate(
      certify({ ...facts, samples: [{ ...sample, found: 'zeros' }] }),
      signingKey(pem),
    );
    const reordered = Object.fromEntries(
      Object.entries(signed.certificate).reverse(),
    ) as typeof signed.certificate;
    expect(isGenuine(signed)).toBe(true);
    expect(isGenuine({ ...signed, certificate: reordered })).toBe(true);
    expect(isGenuine({ ...signed, certificate: { ...signed.certificate, method: 'overwrite' } })).toBe(false);
  });
  it('is not believed without a key, or with one of another kind', () => {
    const signed = signCertificate(certify({ ...facts, samples: [] }), signingKey(undefined));
    expect(isGenuine({ ...signed, publicKey: 'none' })).toBe(false);
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey;
    const publicKey = rsa.export({ type: 'spki', format: 'pem' }).toString();
    expect(isGenuine({ ...signed, publicKey })).toBe(false);
  });

  it.each([
    ['no key at all', 'hunter2'],
    ['a key of another kind', pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)],
    ['a public key', pemOf(generateKeyPairSync('ed25519').publicKey)],
  ])('%s as CERTIFICATE_KEY is refused without being shown', (_, pem) => {
    const thrown = catchError(() => signingKey(pem));
    expect(thrown).toMatchObject({ code: 'KND_ACTION_VARIABLES' });
    expect(JSON.stringify(toErrorReport(thrown))).not.toContain(pem.slice(30, 60) || pem);
  });
});

function catchError(work: () => unknown): unknown {
  try {
    return work();
  } catch (thrown) {
    return thrown;
  }
}

function pemOf(key: KeyObject): string {
  return key.export({ type: key.type === 'public' ? 'spki' : 'pkcs8', format: 'pem' }).toString();
}
