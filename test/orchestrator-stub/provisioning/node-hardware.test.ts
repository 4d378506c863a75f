import { expect, test } from 'vitest';
import { DiscoverySchema } from '../../../orchestrator-stub/nodes/discovery.ts';
import { newHost } from '../../../orchestrator-stub/nodes/registration.ts';
import { nodeHardware } from '../../../orchestrator-stub/provisioning/node-hardware.ts';
import { toHostId } from '../../../protocol/ids.ts';

const host = { ...newHost(toHostId('host-1'), 'project', new Date(0)), mac: '52:54:00:12:34:56' };
const identity = { macs: ['52:54:00:12:34:56'], nodeId: 'n1' };
const hardware = (said: object) =>
  JSON.stringify(nodeHardware(host, { inventory: DiscoverySchema.parse({ identity, ...said }) }));

test('a machine that tells the least it may has hardware all the same', () => {
  expect(hardware({})).toContain('52:54:00:12:34:56');
  expect(hardware({ nics: [{ name: 'eth0' }], disks: [] })).toContain('eth0');
  const nic = { name: 'eth0', mac: '52:54:00:12:34:56', addresses: ['10.0.2.15/99', 'fe80::1%eth0/64'] };
  expect(hardware({ nics: [nic] })).toContain('255.255.255.255');
});

test.each([
  { nics: [{ name: 'eth0', addresses: [7] }] },
  { nics: [{ name: 'eth0', addresses: ['10.0.2.15/-1'] }] },
  { nics: [{ name: 'eth0', addresses: ['{{.x}}'] }] },
  { nics: [{ name: 'eth0', isBootNic: 'yes' }] },
  { cpu: { architecture: 'a: b' } },
  { firmware: { kind: 'other' } },
  { disks: 'none' },
])('what is no inventory is refused before anything reads it: %j', (said) => {
  expect(DiscoverySchema.safeParse({ identity, ...said }).success).toBe(false);
});
