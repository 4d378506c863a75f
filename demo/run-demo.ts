import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ensureMicroOs } from '../initrd/index.ts';
import { ensureIpxe } from '../ipxe/debian-ipxe.ts';
import { enrollSiteKeys } from '../lab/qemu/enroll-keys.ts';
import { createMachine } from '../lab/qemu/machine.ts';
import type { Firmware } from '../lab/qemu/machine-spec.ts';
import { createTestNetwork } from '../lab/qemu/network.ts';
import { type Site, startSite } from '../lab/site/site.ts';
import type { TargetImage } from '../lab/target-images/image-file.ts';
import { ensureImmutableTarget } from '../lab/target-images/immutable.ts';
import { ensureMutableTarget } from '../lab/target-images/mutable.ts';
import { ensureVendorKey } from '../lab/target-images/vendor.ts';
import { onEndSignal } from '../system/end-signal.ts';
import { type DemoNode, describeNodes, machineOf } from './demo-node.ts';
import type { DemoOptions } from './demo-options.ts';
import type { DemoView } from './demo-view.ts';
import { Journey } from './journey.ts';
import { JsonView } from './json-view.ts';
import { Orchestrator } from './orchestrator.ts';
import { DemoOutput, type Terminal } from './output.ts';
import { PeopleView } from './people-view.ts';
import { renderPicture } from './picture.ts';
import { type Traveler, watchJourneys } from './watch-journeys.ts';

const STOPPED_BY_CTRL_C = 130;
const PROFILE = 'demo';
const FIRMWARE_NAMES: Record<Firmware, string> = {
  ovmf: 'UEFI firmware (OVMF)',
  'ovmf-secure-boot': 'UEFI firmware (OVMF), Secure Boot with the site’s keys',
  seabios: 'BIOS (SeaBIOS)',
};

/** Where a run of the demo shows itself, and what is done with the nodes once they run. */
export interface DemoSurroundings {
  terminal: Terminal;
  /** Further parts of the nodes' profile: custom configs, say. */
  profile?: Record<string, unknown>;
  /** Called before everything is taken down again; `--keep` waits here for Ctrl-C. */
  whenRunning?: (running: Running) => Promise<void>;
}

export interface Running {
  travelers: readonly Traveler[];
  site: Site;
  view: DemoView;
  signal: AbortSignal;
}

/** `npm run demo`; everything it started is gone when it returns, after Ctrl-C too. */
export async function runDemo(
  options: DemoOptions,
  surroundings: DemoSurroundings = { terminal: process.stdout },
): Promise<void> {
  // Before signals are taken: until there is something to take down, they end this at once.
  const image = await buildAll(options);
  const stop = new AbortController();
  const { terminal, profile = {}, whenRunning = options.keep ? keepRunning : undefined } = surroundings;
  const output = new DemoOutput(terminal);
  using _signals = onEndSignal(() => stop.abort());
  using view = options.isJson
    ? new JsonView((line) => terminal.write(line))
    : new PeopleView(output, { showsConsole: options.showConsole });
  try {
    await demo(options, { image, profile, view, signal: stop.signal, whenRunning });
    if (options.picture !== undefined) draw(options.picture, output);
  } catch (thrown) {
    if (!stop.signal.aborted) throw thrown;
    view.say('\nStopped; nothing is left running.');
    process.exitCode = STOPPED_BY_CTRL_C;
  }
}

/** Everything that is kept in the cache; what is installed is the answer. */
async function buildAll({ isImmutable }: DemoOptions): Promise<TargetImage> {
  const image = await (isImmutable ? ensureImmutableTarget() : ensureMutableTarget());
  await ensureMicroOs('minimal');
  await ensureIpxe();
  return image;
}

/** 1 network and orchestrator  2 what it should do  3 power on  4 every stage as it happens */
async function demo(
  options: DemoOptions,
  {
    image,
    profile,
    view,
    signal,
    whenRunning,
  }: {
    image: TargetImage;
    profile: Record<string, unknown>;
    view: DemoView;
    signal: AbortSignal;
    whenRunning: DemoSurroundings['whenRunning'];
  },
): Promise<void> {
  const nodes = describeNodes(options.nodes);
  await using network = await createTestNetwork();
  using site = await startSite(network.bridge, {
    leases: new Map(nodes.map(({ mac, host }) => [mac, host])),
    httpsBoot: options.isHttpsBoot,
  });
  const enrolled = options.firmware === 'ovmf-secure-boot' ? await enrollKeys(site) : undefined;
  signal.throwIfAborted();

  const orchestrator = new Orchestrator(site.urlFromHost, site.operatorToken);
  await orchestrator.send('PUT', `/api/v1/profiles/${PROFILE}`, {
    osType: options.isImmutable ? 'IMMUTABLE' : 'MUTABLE',
    // Of the templates' three settings this one wants Secure Boot on, and does not encrypt.
    security: enrolled === undefined ? 'NONE' : 'UNSPECIFIED',
    imageUrl: site.publish('debian.raw.zst', image.zst),
    imageSha256: image.sha256,
    skipKernelUpgrade: true,
    ...profile,
  });
  site.publish('debian.raw.zst.manifest', image.manifest);
  const ids = await Promise.all(nodes.map((node) => register(orchestrator, node)));
  view.say(introduction(options, site));

  await using machines = new AsyncDisposableStack();
  const powered = await Promise.all(
    nodes.map(async (node, index) => {
      const spec = machineOf(
        node,
        { bridge: network.bridge, keysFolder: site.keysFolder, enrolled },
        options,
      );
      const machine = machines.use(await createMachine(spec));
      return { machine, node, id: ids[index] ?? '' };
    }),
  );
  const travelers = await Promise.all(
    powered.map(async ({ machine, node, id }) => {
      await machine.powerOn();
      return { machine, journey: new Journey(node, id) };
    }),
  );
  const journeys = travelers.map(({ journey }) => journey);
  view.begin(journeys);
  await watchJourneys({
    travelers,
    orchestrator,
    view,
    firmware: FIRMWARE_NAMES[options.firmware],
    addressOf: ({ host }) => network.bridge.address(host),
    signal,
  });
  view.done(journeys, site.urlFromHost);
  view.say(whereToLookNext(options));
  await whenRunning?.({ travelers, site, view, signal });
}

/** As a technician would: the site's keys and that of the system's maker into the firmware. Gives the variable store. */
async function enrollKeys(site: Site): Promise<string> {
  const { certificate } = await ensureVendorKey();
  await site.kindling('build', 'site', '--vendor-certificate', certificate);
  const store = site.write('enrolled.fd', '');
  enrollSiteKeys(site.keysFolder, store);
  return store;
}

async function register(orchestrator: Orchestrator, { name, serial }: DemoNode): Promise<string> {
  const { id } = await orchestrator.send<{ id: string }>('POST', '/api/v1/nodes', {
    name,
    serial,
    autoOnboard: true,
    profile: PROFILE,
  });
  return id;
}

function introduction({ nodes }: DemoOptions, site: Site): string {
  const who =
    nodes === 1
      ? 'A virtual edge node with an empty NVMe disk is'
      : `${nodes} virtual edge nodes with empty NVMe disks are`;
  return `The orchestrator listens on ${site.urlFromHost}. ${who} switched on.\n`;
}

function whereToLookNext({ keep }: DemoOptions): string {
  const lines = [
    ['docs/README.md', 'what there is to read'],
    ['npm run qemu -- --help', 'run one action in a virtual machine'],
    ['npm run kindling -- serve', 'the orchestrator for your own machines'],
    ...(keep ? [] : [['npm run demo -- --keep', 'the same, and node and orchestrator stay up']]),
  ];
  return ['\nWhere to look next:', ...lines.map(([what = '', why]) => `  ${what.padEnd(28)} ${why}`)].join(
    '\n',
  );
}

function draw(file: string, output: DemoOutput): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, renderPicture('npm run demo', output.lines));
}

/** Until Ctrl-C, or until the last node is switched off from inside. */
async function keepRunning({ travelers, site, view, signal }: Running): Promise<void> {
  const token = site.operatorToken ? ` -H 'authorization: Bearer ${site.operatorToken}'` : '';
  view.say(
    `\nNodes and orchestrator stay up: curl${token} ${site.urlFromHost}/api/v1/nodes. Ctrl-C ends all.`,
  );
  const stopped = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => stopped.resolve(), { once: true });
  const off = travelers.map(
    ({ machine }) => new Promise<void>((ended) => machine.console.onEnd(() => ended())),
  );
  await Promise.race([stopped.promise, Promise.all(off)]);
}
