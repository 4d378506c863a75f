import { expect, test } from 'vitest';
import {
  contains,
  formatIp,
  formatNetwork,
  hasHostBits,
  overlaps,
  parseIp,
  parseNetwork,
} from '../../../standalone/config/addresses.ts';
import fc from '../../seeds/fast-check.ts';

function network(text: string) {
  const parsed = parseNetwork(text);
  if (parsed === undefined) throw new Error(text);
  return parsed;
}

test('every address reads back as it was written', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const ip = parseIp(text);
      expect(ip && parseIp(formatIp(ip))).toEqual(ip);
    }),
  );
});

test('IPv6 is written short, and a dotted tail is understood', () => {
  expect(formatNetwork(network('2001:db8:0:0::1/64'))).toBe('2001:db8::/64');
  expect(parseIp('::ffff:192.0.2.1')).toEqual(parseIp('::ffff:c000:201'));
});

test.each([
  '10.0.0.0',
  '10.0.0.0/33',
  '::/129',
  '10.0.0/8',
  '10.0.0.0/8/8',
  'a/8',
  'fe80::1%eth0/64',
  '10.0.0.0/',
])('%s is no network', (text) => {
  expect(parseNetwork(text)).toBeUndefined();
});

test('overlap, containment and host bits', () => {
  expect(overlaps(network('10.0.0.0/8'), network('10.42.0.0/16'))).toBe(true);
  expect(overlaps(network('10.42.0.0/16'), network('10.43.0.0/16'))).toBe(false);
  expect(overlaps(network('::/0'), network('0.0.0.0/0'))).toBe(false);
  expect(contains(network('192.0.2.0/24'), { family: 4, value: parseIp('192.0.2.255')?.value ?? 0n })).toBe(
    true,
  );
  expect(hasHostBits(network('192.0.2.1/24'))).toBe(true);
  expect(hasHostBits(network('192.0.2.1/32'))).toBe(false);
});
