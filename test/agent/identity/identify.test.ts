import { expect, test } from 'vitest';
import { readBootMac } from '../../../agent/identity/boot-nic.ts';
import { decideIdentity } from '../../../agent/identity/identify.ts';
import { parseMac } from '../../../formats/mac-address.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';
import { machineFiles } from '../../../system/machine-files.ts';

const GOOD = {
  uuid: '4c4c4544-0033-3510-8052-b4c04f4d4d32',
  serial: '535R4M2',
  manufacturer: 'Dell Inc.',
  product: 'PowerEdge',
};
const JUNK = {
  uuid: '03000200-0400-0500-0006-000700080009',
  serial: 'Default string',
  manufacturer: 'To be filled by O.E.M.',
};
const NICS = [
  { name: 'eth1', mac: '00:1b:21:00:00:02', permanentMac: '00:1b:21:00:00:02' },
  { name: 'eth0', mac: '00:1b:21:00:00:01', permanentMac: '00:1b:21:00:00:01' },
];

test('a good UUID is the node id, and its other byte order is known', () => {
  const identity = decideIdentity(GOOD, NICS, undefined);
  expect(identity.nodeId).toBe(GOOD.uuid);
  expect(identity.uuidAlias).toBe('44454c4c-3300-1035-8052-b4c04f4d4d32');
  expect(identity.serial).toBe('535R4M2');
});

test('junk is rejected with its reason and never shown as an identity', () => {
  const identity = decideIdentity(JUNK, NICS, undefined);
  expect(identity).not.toHaveProperty('uuid');
  expect(identity).not.toHaveProperty('serial');
  expect(identity).not.toHaveProperty('manufacturer');
  expect(identity.evidence).toContainEqual({
    field: 'serial',
    value: 'Default string',
    score: 0,
    reason: 'a placeholder of the vendor',
  });
  expect(identity.evidence[0]).toMatchObject({ field: 'mac', value: '00:1b:21:00:00:01' });
});

test('the node id does not depend on which NIC booted or on their order', () => {
  const ids = [
    decideIdentity(JUNK, NICS, undefined),
    decideIdentity(JUNK, NICS, '00:1b:21:00:00:02'),
    decideIdentity(JUNK, [...NICS].reverse(), '00:1b:21:00:00:01'),
  ].map(({ nodeId }) => nodeId);
  expect(new Set(ids).size).toBe(1);
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('two boards with the same junk and different cards are different nodes', () => {
  const other = [{ name: 'eth0', mac: '00:1b:21:00:00:09', permanentMac: '00:1b:21:00:00:09' }];
  expect(decideIdentity(JUNK, NICS, undefined).nodeId).not.toBe(
    decideIdentity(JUNK, other, undefined).nodeId,
  );
});

test('a serial number counts together with the maker: two makers may use the same', () => {
  const one = decideIdentity({ ...JUNK, serial: 'A-000123', manufacturer: 'One' }, NICS, undefined);
  const two = decideIdentity({ ...JUNK, serial: 'A-000123', manufacturer: 'Two' }, NICS, undefined);
  expect(one.nodeId).not.toBe(two.nodeId);
  expect(one.evidence[0]).toMatchObject({ field: 'serial', score: 80 });
});

test('a system serial that only repeats the board’s is trusted less, but more than a MAC', () => {
  const identity = decideIdentity({ ...JUNK, serial: 'MB-77123', boardSerial: 'MB-77123' }, NICS, undefined);
  expect(identity.evidence[0]).toMatchObject({ field: 'serial', score: 60 });
});

test('a burned-in address is better than one set by software', () => {
  const nics = [{ name: 'usb0', mac: '02:00:00:00:00:01', permanentMac: '02:00:00:00:00:01' }, ...NICS];
  expect(decideIdentity(JUNK, nics, undefined).evidence[0]?.value).toBe('00:1b:21:00:00:01');
});

test('the NIC that booted comes first in the list of MACs', () => {
  expect(decideIdentity(GOOD, NICS, '00:1b:21:00:00:01').macs).toEqual([
    '00:1b:21:00:00:01',
    '00:1b:21:00:00:02',
  ]);
});

test('a machine that nothing tells from others is an error', () => {
  expect(() => decideIdentity(JUNK, [], undefined)).toThrow(
    expect.objectContaining({ code: 'KND_IDENTITY_NONE' }),
  );
});

test.each([
  ['BOOTIF=01-52-54-00-AA-BB-CC', '52:54:00:aa:bb:cc'],
  ['hw_addr=52:54:00:aa:bb:cc', '52:54:00:aa:bb:cc'],
  ['worker_id=52:54:00:aa:bb:cc', '52:54:00:aa:bb:cc'],
  ['worker_id=not-a-mac', undefined],
  ['BOOTIF=01-52-54-00-00-00-01 kindling.bootmac=525400aabbcc', '52:54:00:aa:bb:cc'],
])('%s names the NIC that booted', (line, mac) => {
  expect(readBootMac(machineFiles('/nonexistent'), parseKernelArguments(line))).toBe(mac);
});

test.each(['00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff', '52:54:00', ''])('%s is no MAC address', (text) => {
  expect(parseMac(text)).toBeUndefined();
});

test('a machine that tells nothing is what the configuration says', () => {
  const given = { workerId: 'lab-7', serial: 'S-7' };
  const identity = decideIdentity(JUNK, [], undefined, given);
  expect(identity).toMatchObject({ serial: 'S-7', macs: [] });
  expect(identity.nodeId).toBe(decideIdentity({}, [], undefined, given).nodeId);
  expect(decideIdentity({}, [], undefined, { workerId: 'lab-8' }).nodeId).not.toBe(identity.nodeId);
  expect(decideIdentity({}, [], undefined, { uuid: GOOD.uuid.toUpperCase() }).nodeId).toBe(GOOD.uuid);
});

test('the configuration does not make a known machine another one', () => {
  expect(decideIdentity(GOOD, NICS, undefined, { uuid: '11111111-2222-4333-8444-555555555555' })).toEqual(
    decideIdentity(GOOD, NICS, undefined),
  );
});
