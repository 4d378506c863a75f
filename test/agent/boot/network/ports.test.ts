import { expect, test } from 'vitest';
import { parseNetwork } from '../../../../agent/boot/network/parse-network.ts';
import { wantedPorts } from '../../../../agent/boot/network/ports.ts';
import { parseKernelArguments } from '../../../../system/kernel-arguments.ts';

const NICS = [1, 2, 3].map((number) => ({
  name: `eth${number - 1}`,
  mac: `52:54:00:00:00:0${number}`,
  permanentMac: `52:54:00:00:00:0${number}`,
}));
const devices = (line: string, bootMac?: string) =>
  wantedPorts(parseNetwork(parseKernelArguments(line)), NICS, bootMac).map(({ device }) => device);

test('every card, the one that booted first', () => {
  expect(devices('')).toEqual(['eth0', 'eth1', 'eth2']);
  expect(devices('', '52:54:00:00:00:02')).toEqual(['eth1', 'eth0', 'eth2']);
});

test('a card with a plan of its own is not taken by “every card” as well', () => {
  expect(devices('ip=10.0.0.5:::24::eth1:none ip=dhcp')).toEqual(['eth1', 'eth0', 'eth2']);
});

test('members of a bond and parents of VLANs carry no addresses themselves', () => {
  expect(devices('bond=bond0:eth0,eth1 ip=bond0:dhcp ip=dhcp')).toEqual(['bond0', 'eth2']);
  expect(devices('vlan=vlan5:eth0 ip=vlan5:dhcp ip=dhcp')).toEqual(['vlan5', 'eth1', 'eth2']);
});

test('a VLAN of Tinkerbell is made on the card with that MAC', () => {
  expect(devices('ipam=52-54-00-00-00-03:30:10.0.0.5:24:10.0.0.1')).toEqual(['eth2.30']);
});

test('a card that is not there yet is not planned yet', () => {
  expect(devices('ip=eth7:dhcp')).toEqual([]);
});
