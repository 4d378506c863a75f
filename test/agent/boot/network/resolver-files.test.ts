import { expect, test } from 'vitest';
import type { Lease } from '../../../../agent/boot/network/lease.ts';
import { hostsFile, resolvConf } from '../../../../agent/boot/network/resolver-files.ts';

const lease = (nameservers: string[], searchDomains: string[] = []) =>
  ({ nameservers, searchDomains }) as Lease;

test('name servers of the kernel command line first, then those of the chosen card; three are read, none twice', () => {
  const text = resolvConf(
    [lease(['10.0.0.1', '10.0.0.2'], ['a.example']), lease(['10.1.0.1'], ['a.example', 'b.example'])],
    {
      nameservers: ['9.9.9.9', '10.0.0.1'],
      searchDomains: [],
    },
  );
  expect(text).toBe(
    'search a.example b.example\nnameserver 9.9.9.9\nnameserver 10.0.0.1\nnameserver 10.0.0.2\noptions timeout:2 attempts:3\n',
  );
});

test('/etc/hosts gets the loopback names once and keeps what the config archive brought', () => {
  const first = hostsFile('10.0.0.7 stream.site.example');
  expect(first).toBe('127.0.0.1 localhost\n::1 localhost\n10.0.0.7 stream.site.example\n');
  expect(hostsFile(first)).toBe(first);
});
