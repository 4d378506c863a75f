import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { certify, signCertificate } from '../../../actions/erase/certificate.ts';
import { assignCertificates, readEvidence } from '../../../orchestrator-stub/record/log-evidence.ts';
import type { DiskFacts } from '../../../protocol/hardware-facts.ts';

const { privateKey } = generateKeyPairSync('ed25519');

const certificateOf = (disk: { path: string; serial?: string; wwn?: string }, day = '01') =>
  signCertificate(
    certify({
      disk: { sizeBytes: 1000, ...disk },
      method: 'zeroes',
      startedAt: `2026-11-${day}T00:00:00.000Z`,
      finishedAt: `2026-11-${day}T00:00:01.000Z`,
      samples: [{ offset: 0, sha256: 'a', found: 'zeros' }],
      isBlank: true,
    }),
    privateKey,
  );
const diskOf = (facts: Partial<DiskFacts>): DiskFacts => ({
  path: '/dev/sda',
  bus: null,
  model: null,
  serial: null,
  wwn: null,
  sizeBytes: 1000,
  ...facts,
});
const line = (fields: Record<string, unknown>, time = '2026-11-18T08:00:00.000Z') => ({
  stream: 'agent',
  sequence: 1,
  time,
  level: 'info',
  message: '',
  fields,
});

test('certificates are found as objects and as texts; a changed one is left out', () => {
  const good = certificateOf({ path: '/dev/sda', serial: 'D1' });
  const changed = { ...good, certificate: { ...good.certificate, nistClass: 'purge' } };
  const { certificates } = readEvidence([
    line({ certificate: good }),
    line({ certificate: JSON.stringify(good) }),
    line({ certificate: changed }),
    line({ certificate: { certificate: null, signature: 1 } }),
    line({ certificate: { certificate: { disk: 3 }, signature: 'x', publicKey: 'y' } }),
  ]);
  expect(certificates).toEqual([good, good]);
});

test('the last image that was written counts, and only what has the form of a digest', () => {
  const root = 'c'.repeat(64);
  const { written } = readEvidence([
    line({ writtenImage: { sha256: 'a'.repeat(64), bytes: 1 } }),
    line({ writtenImage: JSON.stringify({ manifestRoot: root, sha256: '<b>', bytes: 7 }) }, '2026-11-18T09'),
    line({ writtenImage: 'nonsense' }),
  ]);
  expect(written).toEqual({ at: '2026-11-18T09', sha256: null, manifestRoot: root, bytes: 7 });
});

test('a disk gets its newest certificate, by its own identity and never by a path alone', () => {
  const [first, second] = [diskOf({ serial: 'D1' }), diskOf({ path: '/dev/sdb', serial: 'D2' })];
  const old = certificateOf({ path: '/dev/sda', serial: 'D1' }, '01');
  const fresh = certificateOf({ path: '/dev/sdb', serial: 'D1' }, '02');
  const gone = certificateOf({ path: '/dev/sdb', serial: 'D9' }, '03');
  const { ofDisk, others } = assignCertificates([first, second], [fresh, old, gone]);
  expect(ofDisk.get(first)).toBe(fresh);
  expect(ofDisk.get(second)).toBeUndefined();
  expect(others).toEqual([gone]);
});

test('a disk without serial number and WWN is known by path and size', () => {
  const disk = diskOf({});
  const own = certificateOf({ path: '/dev/sda' });
  expect(assignCertificates([disk], [own]).ofDisk.get(disk)).toBe(own);
  expect(assignCertificates([diskOf({ wwn: 'naa.1' })], [own]).others).toEqual([own]);
});
