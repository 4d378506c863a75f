import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import type { Lease } from '../../../../agent/boot/network/lease.ts';
import { reaches } from '../../../../agent/boot/network/reach.ts';

const through = (address: string) => ({ interface: 'lo', address, nameservers: [] as string[] }) as Lease;

async function listening() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

test('a server that accepts is reached, by address or by a name of /etc/hosts', async () => {
  const { port, close } = await listening();
  expect(await reaches(through('127.0.0.1'), [{ host: '127.0.0.1', port }], 2000)).toEqual({
    host: '127.0.0.1',
    port,
  });
  expect(await reaches(through('127.0.0.1'), [{ host: 'localhost', port }], 2000)).toBeDefined();
  close();
});

test('a refusal proves the way: the service may still be starting', async () => {
  const { port, close } = await listening();
  close();
  expect(await reaches(through('127.0.0.1'), [{ host: '127.0.0.1', port }], 2000)).toBeDefined();
});

test('one of several targets is enough; without targets nothing is reached', async () => {
  const { port, close } = await listening();
  const nowhere = { host: 'no-such-host.invalid', port: 1 };
  expect(await reaches(through('127.0.0.1'), [nowhere, { host: '127.0.0.1', port }], 2000)).toBeDefined();
  expect(await reaches(through('127.0.0.1'), [nowhere], 2000)).toBeUndefined();
  close();
});

test('an IPv4 address cannot reach an IPv6 one', async () => {
  expect(await reaches(through('127.0.0.1'), [{ host: '::1', port: 1 }], 500)).toBeUndefined();
});
