import { expect, test } from 'vitest';
import { parseLease } from '../../../../agent/boot/network/lease.ts';
import fc from '../../../seeds/fast-check.ts';

const environment = (variables: Record<string, string>) =>
  `${Object.entries(variables)
    .map(([name, value]) => `${name}=${value}`)
    .join('\0')}\0`;

test('a full offer of udhcpc', () => {
  const text = environment({
    PATH: '/bin',
    interface: 'eth0',
    ip: '10.0.0.50',
    subnet: '255.255.252.0',
    mask: '22',
    router: '10.0.0.1 10.0.0.2',
    dns: '10.0.0.3 10.0.0.4',
    domain: 'site.example',
    search: 'a.example b.example',
    ntpsrv: '10.0.0.5',
    hostname: 'node5',
    mtu: '9000',
    staticroutes: '10.9.0.0/16 10.0.0.9 0.0.0.0/0 10.0.0.1',
  });
  expect(parseLease(text)).toEqual({
    interface: 'eth0',
    address: '10.0.0.50',
    prefix: 22,
    gateways: ['10.0.0.1', '10.0.0.2'],
    routes: [
      { to: '10.9.0.0/16', gateway: '10.0.0.9' },
      { to: '0.0.0.0/0', gateway: '10.0.0.1' },
    ],
    nameservers: ['10.0.0.3', '10.0.0.4'],
    searchDomains: ['a.example', 'b.example', 'site.example'],
    ntpServers: ['10.0.0.5'],
    hostname: 'node5',
    mtu: 9000,
    source: 'dhcp',
  });
});

test('a server that sends only an address is enough', () => {
  expect(parseLease(environment({ interface: 'eth0', ip: '10.0.0.50' }))).toMatchObject({
    prefix: 24,
    gateways: [],
  });
});

test('what a server should not send is left out', () => {
  const lease = parseLease(
    environment({
      interface: 'eth0',
      ip: '10.0.0.50',
      router: 'gateway; reboot',
      dns: '$(reboot) 10.0.0.3',
      hostname: 'a b\nnameserver 6.6.6.6',
      mtu: '1',
      ntpsrv: '`x`',
    }),
  );
  expect(lease).toMatchObject({ gateways: [], nameservers: ['10.0.0.3'], ntpServers: [] });
  expect(lease?.hostname).toBeUndefined();
  expect(lease?.mtu).toBeUndefined();
});

test('no address, no lease', () => {
  expect(parseLease('')).toBeUndefined();
  expect(parseLease(environment({ interface: 'eth0', ip: 'none' }))).toBeUndefined();
});

test('any bytes are read without an error', () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => void parseLease(Buffer.from(bytes))));
});
