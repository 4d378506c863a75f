import { expect, test } from 'vitest';
import { CertificateRefusals } from '../../../orchestrator-stub/nodes/certificate-refusals.ts';
import { shownReason } from '../../../protocol/certificate-refusal.ts';

test('a refusal is told once, kept while it goes on, and forgotten after two minutes of silence', () => {
  let now = 0;
  const refusals = new CertificateRefusals(() => new Date(now));
  expect(refusals.note('10.0.0.7', 'SELF_SIGNED_CERT_IN_CHAIN')).toBe(true);
  now = 100_000;
  expect(refusals.note('10.0.0.7', 'SELF_SIGNED_CERT_IN_CHAIN')).toBe(false);
  now = 200_000;
  expect(refusals.list()).toMatchObject([{ address: '10.0.0.7', reason: 'SELF_SIGNED_CERT_IN_CHAIN' }]);
  now = 221_000;
  expect(refusals.list()).toEqual([]);
});

test('made-up addresses fill no memory', () => {
  const refusals = new CertificateRefusals(() => new Date(0));
  for (let last = 0; last < 1000; last++) refusals.note(`2001:db8::${last}`, 'X');
  expect(refusals.list()).toHaveLength(200);
  expect(refusals.list().at(-1)?.address).toBe('2001:db8::999');
});

test.each([
  ['CERT_HAS_EXPIRED', 'CERT_HAS_EXPIRED'],
  ['\u001b[2Jboo', 'no reason given'],
  [null, 'no reason given'],
])('%j is shown as %s', (sent, shown) => {
  expect(shownReason(sent)).toBe(shown);
});
