import { expect, test } from 'vitest';
import { fatalScreen, qrText } from '../../../agent/console/fatal-screen.ts';
import fc from '../../seeds/fast-check.ts';

const FACTS = {
  report: {
    code: 'KND_NET_NO_DHCP',
    message: 'the link is up on eth0, but no DHCP server answered for 120 s',
    hint: 'Check that the port is in the right VLAN and forwards at once.',
    retryable: true,
    causes: [],
  },
  nodeId: '4c4c4544-0033-3510-8052-b4c04f4d4d32',
  mac: '52:54:00:00:00:01',
  version: '0.1.0 (1a2b3c4)',
  uptime: 133.7,
  next: 'Tries again in 30 s. Keys: r try again, b reboot, p power off.',
};

test('code, reason, next step and node are beside the QR code, on one screen of 80 × 25', () => {
  const lines = fatalScreen(FACTS).split('\n');
  expect(lines.length).toBeLessThanOrEqual(24);
  for (const line of lines) expect([...line].length).toBeLessThanOrEqual(80);
  const text = lines
    .map((line) => line.replaceAll(/[█▀▄]/g, ' '))
    .join(' ')
    .replaceAll(/\s+/g, ' ');
  for (const part of [
    'KND_NET_NO_DHCP',
    'no DHCP server answered',
    'Check that the port',
    '4c4c4544',
    'r try again',
  ]) {
    expect(text).toContain(part);
  }
});

test('the QR code says code, node, MAC and reason', () => {
  expect(qrText(FACTS)).toBe(
    'kindling 0.1.0\nKND_NET_NO_DHCP\nnode 4c4c4544-0033-3510-8052-b4c04f4d4d32\n52:54:00:00:00:01\nup 134s\nthe link is up on eth0, but no DHCP',
  );
});

test('whatever the message, the screen fits and shows its keys', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 2000, size: 'max', unit: 'grapheme' }), (message) => {
      const lines = fatalScreen({ ...FACTS, report: { ...FACTS.report, message, hint: message } }).split(
        '\n',
      );
      const text = lines
        .map((line) => line.replaceAll(/[█▀▄]/g, ' '))
        .join(' ')
        .replaceAll(/\s+/g, ' ');
      return lines.length <= 24 && text.includes('r try again, b reboot, p power off');
    }),
    { numRuns: 30, endOnFailure: true },
  );
});
