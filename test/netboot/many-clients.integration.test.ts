import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ensureMicroOs } from '../../initrd/index.ts';
import { createTestNetwork } from '../../lab/qemu/network.ts';
import { MACHINES_BOOT, startKindling } from '../../lab/site/kindling.ts';

const CLIENTS = join(import.meta.dirname, 'boot-clients-program.ts');
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning'];
const NAMESPACES = 4;
const CLIENTS_EACH = 50;

const hash = (content: Buffer) => createHash('sha256').update(content).digest('hex');

it('200 machines that are switched on at once all get their address, iPXE, script, kernel and initramfs', async () => {
  await using network = await createTestNetwork();
  const { bridge } = network;
  const folder = bridge.namespace.makeFolder('many');
  // 1 the machines, 50 behind each of four network cards
  const groups = Array.from({ length: NAMESPACES }, (_, group) =>
    Array.from({ length: CLIENTS_EACH }, (_, index) => ({
      mac: `52:54:00:20:${hex(group)}:${hex(index)}`,
      address: bridge.address(10 + group * CLIENTS_EACH + index),
    })),
  );
  // 2 a site that knows them all
  const reservations = join(folder, 'reservations.yaml');
  writeFileSync(
    reservations,
    JSON.stringify(groups.flat().map((client) => ({ ...client, subnetMask: '255.255.255.0' }))),
  );
  const state = join(folder, 'state');
  const serve = [
    ...['serve', '--plain', '--plain-port', '8080', '--host', bridge.hostAddress, '--state', state],
    ...['--pxe', bridge.name, '--pxe-mode', 'reservation', '--reservations', reservations],
    ...['--micro-os', (await ensureMicroOs('minimal')).folder],
  ];
  await startKindling(bridge.namespace, serve, MACHINES_BOOT);
  // A small Micro-OS: what is tested is how many, not how much.
  for (const name of ['vmlinuz-x86_64', 'initramfs-x86_64'])
    writeFileSync(join(state, 'tink-stack', name), randomBytes(500_000));

  // 3 all of them at once
  const outputs = await Promise.all(
    groups.map(async (clients, group) => {
      const host = await bridge.addHost(211 + group);
      for (const { address } of clients)
        await host.run('ip', ['address', 'add', `${address}/24`, 'dev', 'eth0']);
      return { host, clients };
    }),
  ).then((hosts) =>
    Promise.all(
      hosts.map(({ host, clients }) =>
        host.run('env', [...NODE, CLIENTS, JSON.stringify(clients)], { timeoutMs: 110_000 }),
      ),
    ),
  );
  const results = outputs.flatMap(({ stdout }) =>
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  );
  const served = (file: string) => hash(readFileSync(join(state, file)));
  const expected = {
    loader: served('tftp/ipxe.efi'),
    kernel: served('tink-stack/vmlinuz-x86_64'),
    initramfs: served('tink-stack/initramfs-x86_64'),
  };
  expect(results.filter(({ error }) => error !== undefined)).toEqual([]);
  expect(results).toHaveLength(NAMESPACES * CLIENTS_EACH);
  for (const result of results) expect(result).toMatchObject(expected);
});

function hex(number: number): string {
  return number.toString(16).padStart(2, '0');
}
