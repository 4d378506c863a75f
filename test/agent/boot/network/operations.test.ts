import { expect, test } from 'vitest';
import type { Lease } from '../../../../agent/boot/network/lease.ts';
import {
  bondOperations,
  defaultRouteOperations,
  leaseOperations,
  type Operation,
} from '../../../../agent/boot/network/operations.ts';

const LEASE: Lease = {
  interface: 'eth0',
  address: '10.0.5.50',
  prefix: 22,
  gateways: ['10.0.4.1'],
  routes: [],
  nameservers: [],
  searchDomains: [],
  ntpServers: [],
  source: 'dhcp',
};
const lines = (operations: Operation[]) =>
  operations.map((operation) =>
    'ip' in operation ? operation.ip.join(' ') : `${operation.write} > ${operation.to}`,
  );

test('a lease becomes an address, a default route by metric, and routes for packets from that address', () => {
  expect(lines(leaseOperations(LEASE, 101, 110))).toEqual([
    'addr add 10.0.5.50/22 broadcast + dev eth0',
    'route replace default via 10.0.4.1 dev eth0 metric 110',
    'route replace default via 10.0.4.1 dev eth0 table 101',
    'route replace 10.0.4.0/22 dev eth0 table 101',
    'rule add from 10.0.5.50 table 101',
  ]);
});

test('classless routes replace the gateways (RFC 3442)', () => {
  const routes = [
    { to: '0.0.0.0/0', gateway: '10.0.4.2' },
    { to: '10.9.0.0/16', gateway: '10.0.4.9' },
  ];
  const done = lines(leaseOperations({ ...LEASE, routes }, 101, 110)).join('\n');
  expect(done).toContain('default via 10.0.4.2');
  expect(done).toContain('10.9.0.0/16 via 10.0.4.9');
  expect(done).not.toContain('10.0.4.1 ');
});

test('a gateway outside the own net gets a route first', () => {
  expect(lines(leaseOperations({ ...LEASE, prefix: 32, gateways: ['10.0.0.1'] }, 101, 110))).toContain(
    'route replace 10.0.0.1 dev eth0',
  );
});

test('the chosen card moves to the front: new route first, so that there is always one', () => {
  expect(lines(defaultRouteOperations(LEASE, 110, 50))).toEqual([
    'route replace default via 10.0.4.1 dev eth0 metric 50',
    'route del default via 10.0.4.1 dev eth0 metric 110',
  ]);
});

test('a bond gets its mode before its members, which join while they are down', () => {
  const done = lines(
    bondOperations({ name: 'bond0', members: ['eth0'], options: { miimon: '50', mode: '802.3ad' } }),
  );
  expect(done).toEqual([
    '+bond0 > /sys/class/net/bonding_masters',
    '802.3ad > /sys/class/net/bond0/bonding/mode',
    '50 > /sys/class/net/bond0/bonding/miimon',
    'link set eth0 down',
    '+eth0 > /sys/class/net/bond0/bonding/slaves',
    'link set bond0 up',
  ]);
});
