import { describe, expect, test } from 'vitest';
import { parseNetwork } from '../../../../agent/boot/network/parse-network.ts';
import { KindlingError } from '../../../../protocol/error.ts';
import { parseKernelArguments } from '../../../../system/kernel-arguments.ts';
import fc from '../../../seeds/fast-check.ts';

const plan = (line: string) => parseNetwork(parseKernelArguments(line));
const DHCP = { kind: 'dhcp' };

test('without any argument every card uses DHCP', () => {
  expect(plan('quiet').interfaces).toEqual([{ nic: 'every', method: DHCP }]);
});

test.each(['off', 'none'])('ip=%s means no network at all', (word) => {
  expect(plan(`ip=${word}`).interfaces).toEqual([]);
});

describe('ip= in every form of dracut and of the kernel', () => {
  test.each<[string, object]>([
    ['dhcp', { nic: 'every', method: DHCP }],
    ['on', { nic: 'every', method: DHCP }],
    ['any', { nic: 'every', method: DHCP }],
    ['single-dhcp', { nic: 'every', method: DHCP }],
    ['auto6', { nic: 'every', method: { kind: 'auto6' } }],
    ['eth1:dhcp', { nic: { name: 'eth1' }, method: DHCP }],
    ['eno1:dhcp:9000', { nic: { name: 'eno1' }, method: DHCP, mtu: 9000 }],
    [':::::eth0:dhcp', { nic: { name: 'eth0' }, method: DHCP }],
    [
      '10.0.0.5::10.0.0.1:255.255.255.0:node5:eth0:none',
      {
        nic: { name: 'eth0' },
        hostname: 'node5',
        method: { kind: 'static', address: '10.0.0.5', prefix: 24, gateway: '10.0.0.1' },
      },
    ],
    [
      '10.0.0.5::10.0.0.1:20::eth0:off',
      {
        nic: { name: 'eth0' },
        method: { kind: 'static', address: '10.0.0.5', prefix: 20, gateway: '10.0.0.1' },
      },
    ],
    ['10.0.0.5/16::::::none', { nic: 'every', method: { kind: 'static', address: '10.0.0.5', prefix: 16 } }],
    [
      '192.168.1.5:::::eth0:none',
      { nic: { name: 'eth0' }, method: { kind: 'static', address: '192.168.1.5', prefix: 24 } },
    ],
    [
      '10.0.0.5::10.0.0.1:255.255.255.0::eth0:none:9000',
      {
        nic: { name: 'eth0' },
        mtu: 9000,
        method: { kind: 'static', address: '10.0.0.5', prefix: 24, gateway: '10.0.0.1' },
      },
    ],
    [
      '[2001:db8::5]::[2001:db8::1]:64::eth0:none',
      {
        nic: { name: 'eth0' },
        method: { kind: 'static', address: '2001:db8::5', prefix: 64, gateway: '2001:db8::1' },
      },
    ],
  ])('ip=%s', (argument, expected) => {
    expect(plan(`ip=${argument}`).interfaces).toEqual([expected]);
  });

  test('name servers and a time server may follow', () => {
    const { nameservers, ntpServers } = plan(
      'ip=10.0.0.5::10.0.0.1:24::eth0:none:10.0.0.2:10.0.0.3:10.0.0.4',
    );
    expect(nameservers).toEqual(['10.0.0.2', '10.0.0.3']);
    expect(ntpServers).toEqual(['10.0.0.4']);
  });

  test('several interfaces, each with its own', () => {
    expect(plan('ip=eth0:dhcp ip=10.1.0.5::10.1.0.1:24::eth1:none').interfaces).toHaveLength(2);
  });
});

test('Tinkerbell’s ipam= gives the card by MAC, a VLAN, and everything else', () => {
  expect(
    plan(
      'ipam=de-ad-be-ef-fe-ed:30:192.168.2.193:255.255.255.0:192.168.2.1:node1:1.1.1.1,8.8.8.8:example.org:132.163.97.1,132.163.96.1',
    ),
  ).toMatchObject({
    interfaces: [
      {
        nic: { mac: 'de:ad:be:ef:fe:ed' },
        vlanId: 30,
        hostname: 'node1',
        method: { kind: 'static', address: '192.168.2.193', prefix: 24, gateway: '192.168.2.1' },
      },
    ],
    nameservers: ['1.1.1.1', '8.8.8.8'],
    searchDomains: ['example.org'],
    ntpServers: ['132.163.97.1', '132.163.96.1'],
  });
});

test('ipam= with empty fields is a plain address', () => {
  expect(plan('ipam=de-ad-be-ef-fe-ed::192.168.2.193:255.255.255.0:::::').interfaces).toEqual([
    { nic: { mac: 'de:ad:be:ef:fe:ed' }, method: { kind: 'static', address: '192.168.2.193', prefix: 24 } },
  ]);
});

test('Tinkerbell’s vlan_id= puts DHCP on a VLAN of the card that booted', () => {
  expect(plan('hw_addr=52:54:00:00:00:01 vlan_id=120').interfaces).toEqual([
    { nic: { mac: '52:54:00:00:00:01' }, vlanId: 120, method: DHCP },
  ]);
});

test('hw_addr= alone prefers a card, it does not exclude the others', () => {
  expect(plan('hw_addr=52:54:00:00:00:01').interfaces).toEqual([{ nic: 'every', method: DHCP }]);
});

test.each([
  ['vlan5:eth0', { name: 'vlan5', parent: 'eth0', id: 5 }],
  ['vlan0005:eth0', { name: 'vlan0005', parent: 'eth0', id: 5 }],
  ['eth0.5:eth0', { name: 'eth0.5', parent: 'eth0', id: 5 }],
  ['bond0.0120:bond0', { name: 'bond0.0120', parent: 'bond0', id: 120 }],
])('vlan=%s', (argument, expected) => {
  expect(plan(`vlan=${argument}`)).toMatchObject({
    vlans: [expected],
    interfaces: [{ nic: { name: expected.name }, method: DHCP }],
  });
});

test('bond= with members and options; DHCP goes on the bond', () => {
  expect(plan('bond=bond1:eno1,eno2:mode=802.3ad,miimon=50:9000')).toMatchObject({
    bonds: [
      { name: 'bond1', members: ['eno1', 'eno2'], options: { mode: '802.3ad', miimon: '50' }, mtu: 9000 },
    ],
    interfaces: [{ nic: { name: 'bond1' }, method: DHCP }],
  });
});

test('a bare bond is dracut’s default', () => {
  expect(plan('bond').bonds).toEqual([
    { name: 'bond0', members: ['eth0', 'eth1'], options: { mode: 'balance-rr' } },
  ]);
});

test('a VLAN on a bond gets the addresses, not the bond', () => {
  expect(plan('bond=bond0:eth0,eth1 vlan=bond0.7:bond0').interfaces).toEqual([
    { nic: { name: 'bond0.7' }, method: DHCP },
  ]);
});

test('nameserver=, rd.route=, ifname= and kindling.ntp=', () => {
  expect(
    plan(
      'nameserver=10.0.0.2 nameserver=[2001:db8::2] rd.route=10.9.0.0/16:10.0.0.9:eth0 ifname=net0:52:54:00:00:00:01 kindling.ntp=ntp1,10.0.0.4',
    ),
  ).toMatchObject({
    nameservers: ['10.0.0.2', '2001:db8::2'],
    routes: [{ to: '10.9.0.0/16', gateway: '10.0.0.9', interface: 'eth0' }],
    renames: [{ name: 'net0', mac: '52:54:00:00:00:01' }],
    ntpServers: ['ntp1', '10.0.0.4'],
  });
});

test.each([
  'ip=10.0.0.300::10.0.0.1:24::eth0:none',
  'ip=10.0.0.5::gateway:24::eth0:none',
  'ip=10.0.0.5::10.0.0.1:255.0.255.0::eth0:none',
  'ip=10.0.0.5::10.0.0.1:24::eth0:sometimes',
  'ip=10.0.0.5::10.0.0.1:24::eth0:none:dns.example',
  'ip=eth0:static',
  'ip=eth0:dhcp:12',
  'ip=dhcp6',
  'vlan=eth0:eth1',
  'vlan=vlan9999:eth0',
  'vlan=vlan5',
  'bond=bond0:eth0,eth1:mode',
  'nameserver=dns.example',
  'ipam=de-ad-be-ef:30:1.2.3.4:24',
  'ipam=de-ad-be-ef-fe-ed:30:1.2.3:24',
  'vlan_id=5000',
  'rd.route=10.0.0.0:10.0.0.1',
  'ifname=eth0',
])('%s is refused with its own code, and the message names it', (argument) => {
  let thrown: unknown;
  try {
    plan(argument);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(KindlingError);
  expect(thrown).toMatchObject({ code: 'KND_NET_ARGUMENT' });
  expect(String(thrown)).toContain(argument.split('=')[0]);
});

test('whatever comes, it is a plan or KND_NET_ARGUMENT', () => {
  const key = fc.constantFrom(
    'ip',
    'vlan',
    'bond',
    'ipam',
    'nameserver',
    'rd.route',
    'ifname',
    'vlan_id',
    'hw_addr',
    'interface',
  );
  const value = fc.stringMatching(/^[0-9a-f:.,[\]/=-]{0,40}$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(key, value), { maxLength: 4 }), (pairs) => {
      try {
        plan(pairs.map(([name, text]) => `${name}=${text}`).join(' '));
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: 'KND_NET_ARGUMENT' });
      }
    }),
  );
});
