import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Three hosts on one wire: ours (Kindling), the site's own DHCP server (real dnsmasq), and a client. */
const id = `kpx${process.pid}`;
const ours = `${id}a`;
const theirs = `${id}b`;
const client = `${id}c`;
const root = mkdtempSync(join(tmpdir(), 'kindling-pxe-'));
const cli = join(import.meta.dirname, '../../../orchestrator-stub/cli/main.ts');

beforeAll(async () => {
  writeFileSync(join(root, 'ipxe.efi'), Buffer.alloc(100_000, 7));
  await execa('ip', ['netns', 'add', ours]);
  await execa('ip', [
    '-n',
    ours,
    'link',
    'add',
    'br0',
    'type',
    'bridge',
    'stp_state',
    '0',
    'forward_delay',
    '0',
  ]);
  await execa('ip', ['-n', ours, 'addr', 'add', '10.95.0.1/24', 'dev', 'br0']);
  await execa('ip', ['-n', ours, 'link', 'set', 'br0', 'up']);
  for (const [index, name] of [theirs, client].entries()) {
    await execa('ip', ['netns', 'add', name]);
    await execa('ip', [
      '-n',
      ours,
      'link',
      'add',
      `v${index}`,
      'type',
      'veth',
      'peer',
      'name',
      'eth0',
      'netns',
      name,
    ]);
    await execa('ip', ['-n', ours, 'link', 'set', `v${index}`, 'master', 'br0', 'up']);
    await execa('ip', ['-n', name, 'link', 'set', 'eth0', 'up']);
  }
  await execa('ip', ['-n', theirs, 'addr', 'add', '10.95.0.2/24', 'dev', 'eth0']);
  await execa('ip', ['-n', client, 'addr', 'add', '10.95.0.3/24', 'dev', 'eth0']);
});

afterAll(async () => {
  for (const name of [ours, theirs, client]) await execa('ip', ['netns', 'del', name], { reject: false });
  rmSync(root, { recursive: true });
});

/** Starts `kindling pxe` in our namespace; it is stopped at the end of the block. */
function startPxe(...flags: string[]): Promise<AsyncDisposable> {
  const pxe = [
    'pxe',
    '--interface',
    'br0',
    '--tftp-root',
    root,
    '--script',
    'http://10.95.0.1:8080/boot.ipxe',
  ];
  return startIn(
    ours,
    [process.execPath, '--disable-warning=ExperimentalWarning', cli, ...pxe, ...flags],
    /^serving/,
  );
}

/** Starts the site's own DHCP server. */
function startDnsmasq(): Promise<AsyncDisposable> {
  const flags = [
    '--keep-in-foreground',
    '--conf-file=/dev/null',
    '--port=0',
    '--no-ping',
    '--user=root',
  ].concat([
    '--interface=eth0',
    '--bind-interfaces',
    '--dhcp-range=10.95.0.100,10.95.0.150,255.255.255.0,1h',
    `--dhcp-leasefile=${join(root, 'leases')}`,
    '--log-facility=-',
  ]);
  return startIn(theirs, ['dnsmasq', ...flags], /DHCP, sockets bound/);
}

/** Runs a server in a namespace, ready once a line matches. */
async function startIn(namespace: string, command: string[], ready: RegExp): Promise<AsyncDisposable> {
  const server = spawn('ip', ['netns', 'exec', namespace, ...command], { stdio: ['ignore', 'pipe', 'pipe'] });
  const seen: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  for (const stream of [server.stdout, server.stderr]) {
    createInterface(stream).on('line', (line) => {
      seen.push(line);
      if (ready.test(line)) resolve();
    });
  }
  server.on('exit', () => reject(new Error(`${command.join(' ')} ended:\n${seen.join('\n')}`)));
  await promise;
  return { [Symbol.asyncDispose]: () => stop(server) };
}

async function stop(server: ChildProcess): Promise<void> {
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  await ended;
}

async function doctor(): Promise<
  {
    client: string;
    offers: { gives: string; server: string; bootFile?: string; address?: string }[];
    problems: unknown[];
  }[]
> {
  const { stdout } = await execa(
    'ip',
    [
      'netns',
      'exec',
      client,
      process.execPath,
      cli,
      'pxe',
      'doctor',
      'eth0',
      '--output',
      'json',
      '--seconds',
      '1.5',
    ],
    { reject: false },
  );
  return JSON.parse(stdout);
}

describe('beside the site’s own DHCP server', () => {
  it('auto-proxy adds the boot file and leaves the addresses to the site', async () => {
    await using _dnsmasq = await startDnsmasq();
    await using _pxe = await startPxe('--mode', 'auto-proxy');
    const findings = await doctor();
    for (const { client: name, offers, problems } of findings) {
      expect(problems, name).toEqual([]);
      expect(offers.find(({ server }) => server === '10.95.0.2')?.gives, name).toBe('address');
      expect(offers.find(({ server }) => server === '10.95.0.1')?.gives, name).toBe('boot file');
    }
    expect(findings.map(({ offers }) => offers.find(({ bootFile }) => bootFile)?.bootFile)).toEqual([
      'ipxe.efi',
      'undionly.kpxe',
      'http://10.95.0.1:8080/ipxe.efi',
    ]);
  });
});

describe('alone on the network', () => {
  it('reservation mode leases a known machine its address, checked with a real client', async () => {
    const { stdout: mac } = await execa('ip', [
      'netns',
      'exec',
      client,
      'cat',
      '/sys/class/net/eth0/address',
    ]);
    const file = join(root, 'reservations.yaml');
    writeFileSync(
      file,
      `- {mac: "${mac}", address: 10.95.0.42, subnetMask: 255.255.255.0, gateway: 10.95.0.1}\n`,
    );
    const report = join(root, 'lease.sh');
    writeFileSync(
      report,
      '#!/bin/sh\n[ "$1" = bound ] && echo "lease $ip mask $subnet router $router"\nexit 0\n',
      { mode: 0o755 },
    );
    await using _pxe = await startPxe('--mode', 'reservation', '--reservations', file);
    const { stdout } = await execa('ip', [
      'netns',
      'exec',
      client,
      'busybox',
      'udhcpc',
      '-i',
      'eth0',
      '-n',
      '-q',
      '-t',
      '5',
      '-T',
      '1',
      '-s',
      report,
    ]);
    expect(stdout).toContain('lease 10.95.0.42 mask 255.255.255.0 router 10.95.0.1');
  });

  it('serves TFTP to a real client', async () => {
    await using _pxe = await startPxe('--mode', 'off');
    const { stdout } = await execa(
      'ip',
      ['netns', 'exec', client, 'curl', '-s', '--tftp-blksize', '1400', 'tftp://10.95.0.1/ipxe.efi'],
      { encoding: 'buffer' },
    );
    expect(Buffer.from(stdout).equals(Buffer.alloc(100_000, 7))).toBe(true);
  });

  it('the doctor finds that nobody answers', async () => {
    const findings = await doctor();
    expect(JSON.stringify(findings)).toContain('nobody answered the DISCOVER');
  });
});

it('names the interfaces there are when the one given is wrong', async () => {
  const { stderr, exitCode } = await execa(
    process.execPath,
    [cli, 'pxe', '--interface', 'nope0', '--tftp-root', root, '--script', 'http://x/y'],
    { reject: false },
  );
  expect(exitCode).toBe(3);
  expect(stderr).toContain('KND_PXE_NO_INTERFACE');
  expect(stderr).toContain('lo 127.0.0.1');
});
