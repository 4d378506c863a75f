import { expect, test } from 'vitest';
import { DEFAULT_TIMEOUTS, diagnose } from '../../../../agent/boot/network/diagnose.ts';

const port = (facts: object = {}) => ({
  device: 'eth0',
  hasLink: true,
  linkMs: 0,
  hasLease: false,
  ...facts,
});
const codeOf = (...args: Parameters<typeof diagnose>) => diagnose(...args)?.code;

test('patience with spanning tree: with a link nothing is wrong for at least 90 s', () => {
  expect(DEFAULT_TIMEOUTS.dhcpMs).toBeGreaterThanOrEqual(90_000);
  expect(codeOf(95_000, [port({ linkMs: 90_000 })], [], DEFAULT_TIMEOUTS)).toBeUndefined();
});

test('a link without an answer is KND_NET_NO_DHCP, and the message names the card', () => {
  const trouble = diagnose(130_000, [port({ linkMs: 121_000 })], [], DEFAULT_TIMEOUTS);
  expect(trouble?.code).toBe('KND_NET_NO_DHCP');
  expect(trouble?.message).toContain('eth0');
  expect(trouble?.retryable).toBe(true);
});

test('a link that came late has its own patience', () => {
  expect(codeOf(170_000, [port({ linkMs: 60_000 })], [], DEFAULT_TIMEOUTS)).toBeUndefined();
});

test('cards without a link are KND_NET_NO_LINK after a minute', () => {
  expect(codeOf(59_000, [port({ hasLink: false })], [], DEFAULT_TIMEOUTS)).toBeUndefined();
  expect(codeOf(61_000, [port({ hasLink: false })], [], DEFAULT_TIMEOUTS)).toBe('KND_NET_NO_LINK');
});

test('one card with a link is enough to wait for DHCP instead', () => {
  expect(
    codeOf(
      61_000,
      [port({ hasLink: false }), port({ device: 'eth1', linkMs: 50_000 })],
      [],
      DEFAULT_TIMEOUTS,
    ),
  ).toBeUndefined();
});

test('no card at all is KND_NET_NO_NIC, and a card without a driver is named', () => {
  const trouble = diagnose(31_000, [], ['8086:15f3 at 0000:02:00.0'], DEFAULT_TIMEOUTS);
  expect(trouble?.code).toBe('KND_NET_NO_NIC');
  expect(trouble?.message).toContain('8086:15f3');
});
