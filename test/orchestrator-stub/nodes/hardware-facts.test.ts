import { expect, test } from 'vitest';
import { DiscoverySchema } from '../../../orchestrator-stub/nodes/discovery.ts';
import { hardwareFacts } from '../../../orchestrator-stub/nodes/hardware-facts.ts';

const factsOf = (parts: object) =>
  hardwareFacts(DiscoverySchema.parse({ identity: { macs: [], nodeId: 'x' }, ...parts }));

test('only disks that are parts of the machine count', () => {
  const disk = { kind: 'disk', path: '/dev/sda', serial: 'D1', sizeBytes: 5 };
  const { disks } = factsOf({
    disks: [
      disk,
      { ...disk, path: '/dev/sdb', isRemovable: true },
      { ...disk, path: '/dev/sdc', isVirtualMedia: true },
      { ...disk, path: '/dev/sdd', isBootMedium: true },
      { ...disk, path: '/dev/nvme0n1', network: 'tcp' },
      { ...disk, path: '/dev/sr0', kind: 'cdrom' },
    ],
  });
  expect(disks).toEqual([
    { path: '/dev/sda', bus: null, model: null, serial: 'D1', wwn: null, sizeBytes: 5 },
  ]);
});

test('a card is known by the MAC that is burned in', () => {
  const [nic] = factsOf({
    nics: [{ name: 'eno1', mac: '52:54:00:00:00:01', permanentMac: '52:54:00:00:00:02' }],
  }).nics;
  expect(nic?.mac).toBe('52:54:00:00:00:02');
});

test('what has not the form that it should have counts as not said', () => {
  const facts = factsOf({
    memory: { totalBytes: 'lots' },
    tpm: [],
    cpu: { architecture: 'x86_64', model: {} },
    firmware: { kind: 'uefi', version: { toString: 1 }, secureBoot: 'on' },
    disks: [{ kind: 'disk', path: '/dev/sda', model: 7, sizeBytes: -1 }],
  });
  expect(facts).toMatchObject({
    memoryBytes: null,
    tpm: null,
    cpu: null,
    firmware: { kind: 'uefi', version: null, secureBoot: 'on' },
    disks: [{ model: null, sizeBytes: null }],
  });
});
