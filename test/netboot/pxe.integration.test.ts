import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestNetwork, type Namespace, type TestNetwork } from '../../lab/qemu/network.ts';
import { kill } from '../../lab/qemu/processes.ts';
import { startKindling } from '../../lab/site/kindling.ts';

/** Three hosts on one wire: ours (Kindling) has the bridge, the site's own DHCP server is .2, a client .3. */
let network: TestNetwork;
let client: Namespace;
const root = mkdtempSync(join(tmpdir(), 'kindling-pxe-'));
const cli = join(import.meta.dirname, '../../cli/main.ts');

beforeAll(async () => {
  writeFileSync(join(root, 'ipxe.efi'), Buffer.alloc(100_000, 7));
  network = await createTestNetwork();
  client = await network.bridge.addHost(3);
});

afterAll(async () => {
  await network[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

/** Starts `kindling pxe` in our namespace; it is stopped at the end of the block. */
async function startPxe(...flags: string[]): Promise<AsyncDisposable> {
  let seen = '';
  const ready = Promise.withResolvers<void>();
  const site = ['--interface', 'br0', '--tftp-root', root, '--script', 'http://10.77.0.1:8080/boot.ipxe'];
  const server: ChildProcess = network.namespace.start(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', cli, 'pxe', ...site, ...flags],
    (text) => {
      seen += text;
      if (/^serving/m.test(seen)) ready.resolve();
    },
  );
  server.once('close', () => ready.reject(new Error(`kindling pxe ended:\n${seen}`)));
  await ready.promise;
  return { [Symbol.asyncDispose]: () => kill(server, 'SIGTERM') };
}

interface Finding {
  client: string;
  offers: { gives: string; server: string; bootFile?: string; address?: string }[];
  problems: unknown[];
}

/** Its exit code says whether any kind of client would not boot: not what is asked here. */
async function doctor(): Promise<Finding[]> {
  const [enter = '', ...rest] = client.enter;
  const ask = [process.execPath, cli, 'pxe', 'doctor', 'eth0', '--output', 'json', '--seconds', '1.5'];
  const { stdout } = await execa(enter, [...rest, ...ask], { reject: false });
  return JSON.parse(stdout) as Finding[];
}

describe('beside the site’s own DHCP server', () => {
  it('auto-proxy adds the boot file and leaves the addresses to the site', async () => {
    await using theirs = await network.bridge.addHost(2);
    await theirs.startDnsmasq(['dhcp-range=10.77.0.100,10.77.0.150,255.255.255.0,1h']);
    await using _pxe = await startPxe('--mode', 'auto-proxy');
    const findings = await doctor();
    for (const { client: name, offers, problems } of findings) {
      expect(problems, name).toEqual([]);
      expect(offers.find(({ server }) => server === '10.77.0.2')?.gives, name).toBe('address');
      expect(offers.find(({ server }) => server === '10.77.0.1')?.gives, name).toBe('boot file');
    }
    expect(findings.map(({ offers }) => offers.find(({ bootFile }) => bootFile)?.bootFile)).toEqual([
      'ipxe.efi',
      'undionly.kpxe',
      'http://10.77.0.1:8080/ipxe.efi',
    ]);
  });
});

describe('alone on the network', () => {
  it('reservation mode leases a known machine its address, checked with a real client', async () => {
    const { stdout: link } = await client.run('ip', ['-json', 'link', 'show', 'eth0']);
    const [{ address: mac = '' } = {}] = JSON.parse(link) as { address?: string }[];
    const file = join(root, 'reservations.yaml');
    writeFileSync(
      file,
      `- {mac: "${mac}", address: 10.77.0.42, subnetMask: 255.255.255.0, gateway: 10.77.0.1}\n`,
    );
    const report = join(root, 'lease.sh');
    writeFileSync(
      report,
      '#!/bin/sh\n[ "$1" = bound ] && echo "lease $ip mask $subnet router $router"\nexit 0\n',
      { mode: 0o755 },
    );
    await using _pxe = await startPxe('--mode', 'reservation', '--reservations', file);
    const udhcpc = ['udhcpc', '-i', 'eth0', '-n', '-q', '-t', '5', '-T', '1', '-s', report];
    const { stdout } = await client.run('busybox', udhcpc);
    expect(stdout).toContain('lease 10.77.0.42 mask 255.255.255.0 router 10.77.0.1');
  });

  it('serves TFTP to a real client', async () => {
    await using _pxe = await startPxe('--mode', 'off');
    const [enter = '', ...rest] = client.enter;
    const curl = ['curl', '-s', '--tftp-blksize', '1400', 'tftp://10.77.0.1/ipxe.efi'];
    const { stdout } = await execa(enter, [...rest, ...curl], { encoding: 'buffer' });
    expect(Buffer.from(stdout).equals(Buffer.alloc(100_000, 7))).toBe(true);
  });

  it('the doctor finds that nobody answers', async () => {
    const findings = await doctor();
    expect(JSON.stringify(findings)).toContain('nobody answered the DISCOVER');
  });
});

describe('on a device that is not ready', () => {
  it('serves without a carrier, as long as there is an address, and says what is missing', async () => {
    await network.namespace.run('ip', ['link', 'add', 'quiet0', 'type', 'veth', 'peer', 'quiet1']);
    await network.namespace.run('ip', ['address', 'add', '10.78.0.1/24', 'dev', 'quiet0']);
    await network.namespace.run('ip', ['link', 'set', 'quiet0', 'up']);
    const { log } = await startKindling(network.namespace, pxeOn('quiet0'), 'serving');
    expect(log()).toMatch(/quiet0 \(10\.78\.0\.1\) has no carrier: is the cable in\?/);
  });

  it('waits for an address', async () => {
    await network.namespace.run('ip', ['link', 'add', 'late0', 'type', 'bridge']);
    await network.namespace.run('ip', ['link', 'set', 'late0', 'up']);
    const { log } = await startKindling(network.namespace, pxeOn('late0'), 'has no IPv4 address. Waiting');
    await network.namespace.run('ip', ['address', 'add', '10.79.0.1/24', 'dev', 'late0']);
    await expect.poll(log).toContain('serving off DHCP and TFTP on late0 (10.79.0.1)');
  });

  function pxeOn(device: string): string[] {
    const files = ['--tftp-root', root, '--script', 'http://10.78.0.1:8080/boot.ipxe'];
    return ['pxe', '--interface', device, ...files, '--mode', 'off', '--single-port'];
  }
});

it('kindling serve --pxe as the page has it opens the port for boot files by itself', async () => {
  await network.namespace.run('ip', ['link', 'add', 'bare0', 'type', 'bridge']);
  const serve = ['serve', '--pxe', 'bare0', '--state', join(root, 'state')];
  const { log, process: server } = await startKindling(network.namespace, serve, 'operator’s token');
  await kill(server, 'SIGTERM');
  expect(log()).toMatch(/without TLS http:\/\/.*:8080$/m);
});

it('names the interfaces there are when the one given is wrong', async () => {
  const { stderr, exitCode } = await execa(
    process.execPath,
    [cli, 'pxe', '--interface', 'nope0', '--tftp-root', root, '--script', 'http://x/y'],
    { reject: false },
  );
  expect(exitCode).toBe(3);
  expect(stderr).toContain('KND_PXE_NO_INTERFACE');
  expect(stderr).toMatch(/this machine has: .*lo/);
});
