import { expect, test } from 'vitest';
import { choosePort, type PortFacts } from '../../../../agent/boot/network/choose-port.ts';
import type { Lease } from '../../../../agent/boot/network/lease.ts';

const LEASE = { interface: 'eth0', address: '10.0.0.5' } as Lease;
const port = (facts: Partial<PortFacts> = {}): PortFacts => ({
  isBootNic: false,
  hasLink: true,
  lease: LEASE,
  reach: 'untried',
  ...facts,
});
const choose = (ports: PortFacts[], options: Partial<Parameters<typeof choosePort>[1]> = {}) =>
  choosePort(ports, { hasTargets: true, sinceLeaseMs: 0, reachMs: 20_000, current: undefined, ...options });

test('nothing is chosen before a card reaches the orchestrator or patience ends', () => {
  const trying = port({ reach: 'trying' });
  expect(choose([trying])).toBeUndefined();
  expect(choose([trying], { sinceLeaseMs: 21_000 })).toBe(trying);
});

test('the first that reaches it wins', () => {
  const winner = port({ reach: 'yes' });
  expect(choose([port({ reach: 'no' }), winner])).toBe(winner);
});

test('a card that reaches it waits a moment for the one that booted, unless that one cannot', () => {
  const winner = port({ reach: 'yes' });
  const boot = port({ isBootNic: true, lease: undefined });
  expect(choose([boot, winner])).toBeUndefined();
  expect(choose([boot, winner], { sinceLeaseMs: 5000 })).toBe(winner);
  expect(choose([port({ isBootNic: true, reach: 'no' }), winner])).toBe(winner);
  expect(choose([port({ isBootNic: true, hasLink: false }), winner])).toBe(winner);
});

test('the card that booted wins at once when it reaches it', () => {
  const boot = port({ isBootNic: true, reach: 'yes' });
  expect(choose([port({ reach: 'yes' }), boot])).toBe(boot);
});

test('a choice stays unless the orchestrator is lost and another card reaches it', () => {
  const current = port({ reach: 'yes' });
  const other = port({ reach: 'yes' });
  expect(choose([current, other], { current })).toBe(current);
  current.reach = 'no';
  expect(choose([current, other], { current })).toBe(other);
  other.reach = 'no';
  expect(choose([current, other], { current, sinceLeaseMs: 60_000 })).toBe(current);
});

test('without anything to reach an address is enough', () => {
  const first = port();
  expect(choose([first], { hasTargets: false })).toBe(first);
  expect(choose([port({ lease: undefined })], { hasTargets: false, sinceLeaseMs: 60_000 })).toBeUndefined();
});
