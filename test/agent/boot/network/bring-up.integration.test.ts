import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../../../../system/run.ts';

/**
 * A node in a network namespace with two cards, each on a net of its own; the nets are namespaces with a real dnsmasq.
 * Bring-up runs as a program of its own inside the node's namespace, as it does in the Micro-OS.
 */
interface Lab {
  node: string;
  folder: string;
  programs: ChildProcess[];
  namespaces: string[];
}
let lab: Lab;

beforeEach(async () => {
  const id = `kb${process.pid}${Math.floor(Math.random() * 1000)}`;
  lab = {
    node: `${id}n`,
    folder: await mkdtemp(join(tmpdir(), 'kindling-net-')),
    programs: [],
    namespaces: [],
  };
  await namespace(lab.node);
});

afterEach(async () => {
  for (const program of lab.programs) program.kill('SIGKILL');
  for (const name of lab.namespaces) {
    const { stdout } = await run('ip', ['netns', 'pids', name], { okExitCodes: [0, 1] });
    for (const pid of stdout.split('\n').filter(Boolean)) process.kill(Number(pid), 'SIGKILL');
    await run('ip', ['netns', 'del', name], { okExitCodes: [0, 1] });
  }
  await rm(lab.folder, { recursive: true, force: true });
});

async function namespace(name: string): Promise<void> {
  await run('ip', ['netns', 'add', name]);
  lab.namespaces.push(name);
  await run('ip', ['-n', name, 'link', 'set', 'lo', 'up']);
}

/** Connects card `eth<index>` of the node with a net 10.<index>.0.0/24; the other end may stay down (no link). */
async function connect(index: number, options: { isUp?: boolean } = {}): Promise<string> {
  const net = `${lab.node}${index}`;
  await namespace(net);
  await run('ip', [
    '-n',
    lab.node,
    'link',
    'add',
    `eth${index}`,
    'type',
    'veth',
    'peer',
    'name',
    'port',
    'netns',
    net,
  ]);
  await run('ip', ['-n', net, 'addr', 'add', `10.${index}.0.1/24`, 'dev', 'port']);
  if (options.isUp ?? true) await run('ip', ['-n', net, 'link', 'set', 'port', 'up']);
  return net;
}

async function serveDhcp(net: string, index: number): Promise<void> {
  const args = [
    ...[
      'netns',
      'exec',
      net,
      'dnsmasq',
      '-k',
      '-C',
      '/dev/null',
      '--port=0',
      '--no-ping',
      '--interface=port',
      '--bind-interfaces',
    ],
    ...[
      `--dhcp-range=10.${index}.0.50,10.${index}.0.60,255.255.255.0,1h`,
      `--dhcp-leasefile=${lab.folder}/leases${index}`,
    ],
    ...[
      `--dhcp-option=option:ntp-server,10.${index}.0.9`,
      `--dhcp-option=option:dns-server,10.${index}.0.8`,
      '--domain=site.example',
    ],
    '--pid-file=',
  ];
  lab.programs.push(spawn('ip', args, { stdio: 'ignore' }));
}

/** A TCP server in a namespace: the orchestrator. */
async function listen(net: string, address: string): Promise<void> {
  await run('ip', ['-n', net, 'addr', 'add', `${address}/32`, 'dev', 'lo']);
  const server = spawn(
    'ip',
    [
      'netns',
      'exec',
      net,
      process.execPath,
      '-e',
      `require('net').createServer().listen(4711,'${address}',()=>console.log('up'))`,
    ],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  lab.programs.push(server);
  await once(server.stdout as NonNullable<typeof server.stdout>, 'data');
}

async function bringUp(
  kernelLine: string,
  options: { target?: string; bootMac?: string; seconds?: number } = {},
) {
  const script = join(import.meta.dirname, 'bring-up-program.ts');
  const settings = JSON.stringify({ kernelLine, folder: lab.folder, seconds: 20, ...options });
  const { stdout } = await run('ip', ['netns', 'exec', lab.node, process.execPath, script, settings], {
    timeoutMs: 60_000,
  });
  return JSON.parse(stdout) as {
    chosen?: { interface: string; address: string };
    ntpServers: string[];
    error?: string;
    lines: string[];
  };
}

const routes = async () => (await run('ip', ['-n', lab.node, 'route'])).stdout;
const macOf = async (index: number) =>
  (
    JSON.parse((await run('ip', ['-j', '-n', lab.node, 'link', 'show', `eth${index}`])).stdout) as {
      address: string;
    }[]
  )[0]?.address ?? '';

test('the only net with a DHCP server is used: address, route, name servers, time servers', async () => {
  await connect(0);
  await serveDhcp(await connect(1), 1);
  const { chosen, ntpServers } = await bringUp('');
  expect(chosen).toMatchObject({ interface: 'eth1' });
  expect(chosen?.address).toMatch(/^10\.1\.0\.5\d$/);
  expect(ntpServers).toEqual(['10.1.0.9']);
  expect(await routes()).toContain('default via 10.1.0.1 dev eth1');
  const resolvConf = await readFile(join(lab.folder, 'etc/resolv.conf'), 'utf8');
  expect(resolvConf).toContain('nameserver 10.1.0.8');
  expect(resolvConf).toContain('search site.example');
});

test('with two nets the card that reaches the orchestrator wins, and gets the first default route', async () => {
  await serveDhcp(await connect(0), 0);
  const net = await connect(1);
  await serveDhcp(net, 1);
  await listen(net, '192.168.77.1');
  const { chosen } = await bringUp('', { target: '192.168.77.1', bootMac: await macOf(0) });
  expect(chosen).toMatchObject({ interface: 'eth1' });
  expect(await routes()).toMatch(/default via 10\.1\.0\.1 dev eth1 metric 50/);
  expect(await routes()).toMatch(/default via 10\.0\.0\.1 dev eth0 metric 1\d0/);
});

test('when both reach it, the card that booted is preferred', async () => {
  const nets = [await connect(0), await connect(1)];
  for (const [index, net] of nets.entries()) {
    await serveDhcp(net, index);
    await listen(net, '192.168.77.1');
  }
  const { chosen } = await bringUp('', { target: '192.168.77.1', bootMac: await macOf(1) });
  expect(chosen).toMatchObject({ interface: 'eth1' });
});

test('an orchestrator that cannot be reached is told, and the boot goes on', async () => {
  await serveDhcp(await connect(0), 0);
  const { chosen, lines } = await bringUp('', { target: '192.168.77.1' });
  expect(chosen).toMatchObject({ interface: 'eth0' });
  expect(lines.join('\n')).toContain('KND_NET_UNREACHABLE');
});

test('a fixed address with gateway and name server needs no DHCP', async () => {
  await connect(0);
  const { chosen } = await bringUp('ip=10.0.0.77::10.0.0.1:255.255.255.0:node77:eth0:none:10.0.0.8');
  expect(chosen).toMatchObject({ interface: 'eth0', address: '10.0.0.77' });
  expect(await routes()).toContain('default via 10.0.0.1 dev eth0');
  expect(await readFile(join(lab.folder, 'etc/resolv.conf'), 'utf8')).toContain('nameserver 10.0.0.8');
});

test('no link is KND_NET_NO_LINK', async () => {
  await connect(0, { isUp: false });
  expect((await bringUp('', { seconds: 2 })).error).toBe('KND_NET_NO_LINK');
});

test('a link without a DHCP server is KND_NET_NO_DHCP', async () => {
  await connect(0);
  expect((await bringUp('', { seconds: 2 })).error).toBe('KND_NET_NO_DHCP');
});

test('no card is KND_NET_NO_NIC', async () => {
  expect((await bringUp('', { seconds: 1 })).error).toBe('KND_NET_NO_NIC');
});

test('an agent that is started again finds the DHCP client and its lease, and everything stays as it is', async () => {
  await serveDhcp(await connect(0), 0);
  const first = await bringUp('');
  const routesBefore = await routes();
  const clients = async () => (await run('ip', ['netns', 'pids', lab.node])).stdout;
  const clientsBefore = await clients();
  const second = await bringUp('');
  expect(second.chosen).toEqual(first.chosen);
  expect(await routes()).toBe(routesBefore);
  expect(await clients()).toBe(clientsBefore);
});
