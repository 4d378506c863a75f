import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../../system/wait.ts';
import { cleanUpAtExit } from '../clean-up.ts';

const SUBNET = '10.77.0';
const ORIGIN_HOST = 100;
const ORIGIN_PORT = 8080;

/** A site: nodes on one switch, and the image server behind an uplink of a given rate; network namespaces, real TCP. */
export interface UplinkNetwork extends AsyncDisposable {
  originUrl: string;
  /** The address of node i. */
  address: (node: number) => string;
  /** What to put before a command so that it runs on node i. */
  inNode: (node: number) => readonly string[];
  /** Bytes that have crossed the uplink toward the nodes so far, headers and all. */
  uplinkBytes: () => number;
}

/** Builds the site and serves `folder` from behind the uplink. */
export async function buildUplinkNetwork(
  folder: string,
  nodes: number,
  megabits: number,
): Promise<UplinkNetwork> {
  const prefix = `knd${process.pid}`;
  const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const hub = `${prefix}-hub`;
  const origin = `${prefix}-origin`;
  const names = Array.from({ length: nodes }, (_, i) => `${prefix}-n${i}`);
  const made: string[] = [];
  const own = mkdtempSync('/tmp/kindling-uplink-');
  const addNamespace = (name: string) => {
    ip('netns', 'add', name);
    made.push(name);
    ip('-n', name, 'link', 'set', 'lo', 'up');
  };
  const plug = (name: string, port: string, host: number) => {
    addNamespace(name);
    ip('-n', hub, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    ip('-n', hub, 'link', 'set', port, 'master', 'switch', 'up');
    ip('-n', name, 'address', 'add', `${SUBNET}.${host}/24`, 'dev', 'eth0');
    ip('-n', name, 'link', 'set', 'eth0', 'up');
  };
  const dispose = () => {
    isUndone();
    for (const name of made) ip('netns', 'delete', name);
    rmSync(own, { recursive: true, force: true });
  };
  const isUndone = cleanUpAtExit(dispose);
  try {
    addNamespace(hub);
    ip('-n', hub, 'link', 'add', 'switch', 'type', 'bridge');
    ip('-n', hub, 'link', 'set', 'switch', 'up');
    plug(origin, 'uplink', ORIGIN_HOST);
    for (const [i, name] of names.entries()) plug(name, `port${i}`, i + 1);
    execFileSync('ip', [
      ...['netns', 'exec', origin, 'tc', 'qdisc', 'add', 'dev', 'eth0', 'root', 'tbf'],
      ...['rate', `${megabits}mbit`, 'burst', `${burstKilobytes(megabits)}kb`, 'latency', '400ms'],
    ]);
    const stopServer = await serveInNamespace(origin, folder, own);
    return {
      originUrl: `http://${SUBNET}.${ORIGIN_HOST}:${ORIGIN_PORT}`,
      address: (node) => `${SUBNET}.${node + 1}`,
      inNode: (node) => ['ip', 'netns', 'exec', names[node] ?? ''],
      uplinkBytes: () =>
        Number(
          execFileSync('ip', [
            ...['netns', 'exec', origin],
            ...['cat', '/sys/class/net/eth0/statistics/tx_bytes'],
          ]),
        ),
      [Symbol.asyncDispose]: async () => {
        await stopServer();
        dispose();
      },
    };
  } catch (thrown) {
    dispose();
    throw thrown;
  }
}

/** tc-tbf(8): at least what passes between two ticks of the kernel's clock (100 a second at worst), or the rate is not reached. */
const burstKilobytes = (megabits: number) => Math.max(64, Math.ceil((megabits * 1000) / 8 / 100));

async function serveInNamespace(name: string, folder: string, own: string): Promise<() => Promise<void>> {
  mkdirSync(join(own, 'nginx'));
  const config = join(own, 'nginx.conf');
  const pid = join(own, 'nginx/pid');
  writeFileSync(
    config,
    `daemon off; worker_processes 1; user root; pid ${pid}; error_log ${own}/nginx/log;
events { worker_connections 256; }
http { access_log off; log_not_found off; server { listen ${ORIGIN_PORT}; root ${folder}; } }\n`,
  );
  const child = spawn('ip', ['netns', 'exec', name, 'nginx', '-c', config], { stdio: 'ignore' });
  const isUndone = cleanUpAtExit(() => child.kill());
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const isUp = () => {
    try {
      return readFileSync(pid, 'utf8').trim() !== '';
    } catch {
      return false;
    }
  };
  await waitFor(() => (isUp() ? true : undefined), { name: 'nginx behind the uplink', timeoutMs: 10_000 });
  return async () => {
    isUndone();
    child.kill();
    await exited;
  };
}
