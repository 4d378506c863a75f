import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeManifest } from '../../formats/image-manifest.ts';
import { indexImage } from '../../images/index-image.ts';
import { createTestNetwork, type Namespace, type TestNetwork } from '../../lab/qemu/network.ts';
import { kill, makeFolder, removeFolder } from '../../lab/qemu/processes.ts';
import { startKindling } from '../../lab/site/kindling.ts';
import { waitFor } from '../../system/wait.ts';
import { makeDiskImage } from '../actions/image-writer/test-image.ts';
import { type LoopDisk, loopDisk } from '../actions/loop-disk.ts';
import type { NodeSetup } from './node-program.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(96 * MIB, 67);
const ORCHESTRATOR = 2;
/** So thin that the image takes much longer than the nodes need to find each other, as real ones do. */
const UPLINK_MBIT = 16;
const WHOLE_NODES = 4;
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning'];
const PROGRAM = join(import.meta.dirname, 'node-program.ts');
const TEMPLATE = `version: "0.1"
name: write
global_timeout: 600
tasks:
  - name: os
    worker: {{ .DeviceInfoHwMacID | quote }}
    actions:
      - name: stream-os-image
        image: {{ .TinkerActionImageStreamOSImageToDisk }}
        timeout: 300
        environment:
          IMG_URL: {{ .DeviceInfoOSImageURL | quote }}
          KINDLING_NEIGHBOURS_URL: {{ .KindlingNeighboursUrl | quote }}
      - name: reboot
        image: site/reboot:1
        timeout: 60
`;

const folder = makeFolder('neighbors');
const images = join(folder, 'images');
const disks: LoopDisk[] = [];
let network: TestNetwork;
let orchestrator: Namespace;
let server: string;
let root: string;

/** A site: the orchestrator, which serves the image too, behind a narrow uplink, and nodes on one switch. */
beforeAll(async () => {
  execFileSync('mkdir', [images]);
  writeFileSync(join(folder, 'disk.raw'), RAW);
  const blob = join(images, 'disk.zst');
  const { manifest } = await indexImage(join(folder, 'disk.raw'), blob, { chunkSize: MIB, level: 1 });
  writeFileSync(`${blob}.manifest`, manifest);
  root = decodeManifest(manifest).root;
  network = await createTestNetwork();
  orchestrator = await network.bridge.addHost(ORCHESTRATOR);
  const limit = ['rate', `${UPLINK_MBIT}mbit`, 'burst', '64kb', 'latency', '400ms'];
  await orchestrator.run('tc', ['qdisc', 'add', 'dev', 'eth0', 'root', 'tbf', ...limit]);
  const address = network.bridge.address(ORCHESTRATOR);
  server = `http://${address}:8080`;
  const serve = ['serve', '--plain', '--host', address, '--state', join(folder, 'state'), '--files', images];
  await startKindling(orchestrator, serve, 'kindling serves');
  await api('PUT', 'templates/write', { text: TEMPLATE });
  await api('PUT', 'profiles/p', { imageUrl: `${server}/files-edge-orch/disk.zst`, template: 'write' });
});
afterAll(async () => {
  await network[Symbol.asyncDispose]();
  for (const disk of disks) await disk[Symbol.asyncDispose]();
  removeFolder(folder);
});

async function api(method: string, path: string, body: unknown): Promise<void> {
  const args = [
    '-sS',
    '--fail-with-body',
    '-X',
    method,
    '-H',
    'content-type: application/json',
    '-d',
    JSON.stringify(body),
    `${server}/api/v1/${path}`,
  ];
  await orchestrator.run('curl', args);
}

/** Every node that comes from now on gets the image. */
const switchOn = (neighbors: boolean) =>
  api('PATCH', 'site', { defaultProfile: 'p', acceptUnregistered: true, neighbours: neighbors });

async function uplinkBytes(): Promise<number> {
  const { stdout } = await orchestrator.run('ip', ['-s', '-j', 'link', 'show', 'eth0']);
  const [link] = JSON.parse(stdout) as { stats64: { tx: { bytes: number } } }[];
  return link?.stats64.tx.bytes ?? 0;
}

async function startNode(number: number, change: Partial<NodeSetup> = {}) {
  const address = network.bridge.address(number);
  const namespace = await network.bridge.addHost(number);
  const disk = await loopDisk(RAW.length);
  disks.push(disk);
  const setup: NodeSetup = { server, number, address, disk: disk.device, ...change };
  let log = '';
  const child = namespace.start('env', [...NODE, PROGRAM, JSON.stringify(setup)], (text) => {
    log += text;
  });
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  child.once('close', () => resolve());
  const until = (what: string, probe: () => boolean) =>
    waitFor(() => probe() || undefined, { name: what, timeoutMs: 120_000 }).catch((thrown: Error) => {
      throw new Error(`node ${number}: ${thrown.message}; it said:\n${log}`);
    });
  const said = (text: string) => until(`“${text}”`, () => log.includes(text));
  const writes = () => until('the first chunks on its disk', () => allocated(disk) > 3 * MIB);
  /** As when somebody pulls the plug: the agent, and the action it has started. */
  const pullThePlug = async () => {
    const { stdout } = await namespace.run('pgrep', ['-P', String(child.pid)], { okExitCodes: [0, 1] });
    await kill(child);
    for (const pid of stdout.split('\n').filter(Boolean)) process.kill(Number(pid), 'SIGKILL');
  };
  return { namespace, disk, child, ended, said, writes, pullThePlug, log: () => log };
}

const allocated = ({ file }: LoopDisk) => statSync(file).blocks * 512;
const isWritten = ({ disk }: { disk: LoopDisk }) => readFileSync(disk.file).equals(RAW);

test('nodes that find each other through the orchestrator cost the uplink about one image, though one dies and one lies', {
  timeout: 300_000,
}, async () => {
  await switchOn(true);
  const before = await uplinkBytes();
  const liar = await startNode(10, { liesAbout: root });
  await liar.said('announced 200');
  const dying = await startNode(11);
  const nodes = await Promise.all(Array.from({ length: WHOLE_NODES }, (_, at) => startNode(12 + at)));
  await dying.writes();
  await dying.pullThePlug();
  await Promise.all(nodes.map(({ ended }) => ended));
  const images = ((await uplinkBytes()) - before) / statSync(join(folder, 'images/disk.zst')).size;
  for (const node of nodes) expect(isWritten(node), node.log()).toBe(true);
  expect(isWritten(dying)).toBe(false);
  const accused = nodes.flatMap(({ log }) => log().match(/\S+ served something that is not chunk/g) ?? []);
  expect(accused.length).toBeGreaterThan(0);
  expect(accused.filter((line) => !line.includes(`//${network.bridge.address(10)}:`))).toEqual([]);
  expect(images).toBeGreaterThan(1);
  expect(images).toBeLessThan(1.3);
  await kill(liar.child);
});

test('at a site that has not switched it on, nobody listens', async () => {
  await switchOn(false);
  const node = await startNode(30);
  await node.writes();
  const { stdout: listening } = await node.namespace.run('ss', ['-Hltn']);
  expect(listening).not.toContain(network.bridge.address(30));
  await node.ended;
  expect(isWritten(node)).toBe(true);
});
