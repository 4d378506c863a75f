import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createMachine, type Machine } from '../../../lab/qemu/machine.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { makeFolder, removeFolder } from '../../../lab/qemu/processes.ts';
import { KindlingError } from '../../../protocol/error.ts';
import { startStub } from '../../serve.ts';
import type { DemoOptions } from './demo-options.ts';
import { DemoOutput } from './output.ts';
import { renderPicture } from './picture.ts';
import { StageView } from './stage-view.ts';
import { readConsoleLine, type StageId } from './stages.ts';
import { describeNode } from './summary.ts';
import { fetchNode, watchEvents } from './watch-stub.ts';

/** The host as the virtual node sees it (QEMU's own network). */
const HOST_FROM_NODE = '10.0.2.2';
/** The longest any one stage may take: ten times what it takes on a busy machine without KVM. */
const STAGE_DEADLINE_MS = 180_000;
const STOPPED_BY_CTRL_C = 130;

/** `kindling demo`; everything it started is gone when it returns, after Ctrl-C too. */
export async function runDemo(options: DemoOptions): Promise<void> {
  const stop = new AbortController();
  const output = new DemoOutput(process.stdout);
  const onSignal = () => stop.abort();
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  try {
    await demo(options, output, stop.signal);
  } catch (thrown) {
    if (!stop.signal.aborted) throw thrown;
    output.print('\nStopped; nothing is left running.');
    process.exitCode = STOPPED_BY_CTRL_C;
  }
}

/** 1 agent and Micro-OS (cached)  2 orchestrator  3 virtual node, power on  4 stages as they happen  5 what is known now */
async function demo(options: DemoOptions, output: DemoOutput, signal: AbortSignal): Promise<void> {
  const kernel = await microOsKernel();
  signal.throwIfAborted();
  await using site = await startSite();
  await using machine = await createMachine({
    firmware: options.firmware,
    memoryMb: options.memoryMb,
    disks: [{ bus: 'nvme', size: '4G', serial: 'KND-DEMO-DISK' }],
    nics: [{ model: 'virtio' }],
    smbios: {
      manufacturer: 'Kindling',
      product: 'Virtual Edge Node',
      serial: 'KND-DEMO-1',
      uuid: crypto.randomUUID(),
    },
    kernel: { ...kernel, cmdline: `${kernel.cmdline} kindling.server=${site.urlFromNode}` },
  });
  output.print(
    `The orchestrator listens on ${site.url}; a virtual edge node with an empty NVMe disk is switched on.\n`,
  );
  const nodeId = await watchNode({ machine, url: site.url, options, output, signal });
  const node = await fetchNode(site.url, nodeId);
  output.print(
    `\nWhat the orchestrator knows now (GET /api/v1/nodes/${nodeId}):\n${describeNode(node).join('\n')}\n`,
  );
  output.print(whereToLookNext(options));
  if (options.picture !== undefined) {
    mkdirSync(dirname(options.picture), { recursive: true });
    writeFileSync(options.picture, renderPicture('npm run demo', output.lines));
  }
  if (options.keep) await keepRunning({ machine, url: site.url, options, output, signal });
}

interface Site extends AsyncDisposable {
  url: string;
  urlFromNode: string;
}

/** An orchestrator with an empty state of its own, on a port nobody else has. */
async function startSite(): Promise<Site> {
  const stateFolder = makeFolder('demo');
  const stub = await startStub({ stateFolder, host: '127.0.0.1', port: false, plainPort: 0 });
  const { port } = new URL(stub.urls.http);
  return {
    url: stub.urls.http,
    urlFromNode: `http://${HOST_FROM_NODE}:${port}`,
    [Symbol.asyncDispose]: async () => {
      await stub.close();
      removeFolder(stateFolder);
    },
  };
}

interface Watch {
  machine: Machine;
  url: string;
  options: DemoOptions;
  output: DemoOutput;
  signal: AbortSignal;
}

/** Switches the node on and shows every stage as its event comes; gives the node's id once the orchestrator knows it. */
async function watchNode({ machine, url, options, output, signal }: Watch): Promise<string> {
  const known = Promise.withResolvers<string>();
  const watching = new AbortController();
  using view = new StageView(output);
  const giveUp = () => known.reject(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  const deadline = setTimeout(() => known.reject(lateError(machine)), STAGE_DEADLINE_MS);
  const reach = (id: StageId, detail: string) => {
    view.reach(id, detail);
    deadline.refresh();
  };
  watchEvents(
    url,
    (event) => {
      if (event.type !== 'node' || event.change !== 'discovered') return;
      reach('discovered', `${event.nodeId}: ${event.status}`);
      known.resolve(event.nodeId);
    },
    watching.signal,
  ).catch((thrown: unknown) => known.reject(thrown));
  try {
    await machine.powerOn();
    reach('power', options.firmware === 'ovmf' ? 'UEFI firmware (OVMF)' : 'BIOS (SeaBIOS)');
    machine.console.onLine(({ text }) => {
      if (options.showConsole) output.print(`  │ ${text}`);
      const news = readConsoleLine(text);
      if (news?.type === 'stage') reach(news.id, news.detail);
      if (news?.type === 'notice') output.print(`  ! ${news.code}: ${news.message}`);
      if (news?.type === 'fatal')
        known.reject(new KindlingError('KND_VM_ENDED', `the node gave up: ${news.message}`));
    });
    machine.console.onEnd((reason) =>
      known.reject(new KindlingError('KND_VM_ENDED', `the node is off: ${reason}`)),
    );
    return await known.promise;
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener('abort', giveUp);
    watching.abort();
  }
}

function lateError(machine: Machine): KindlingError {
  const tail = machine.console.lines.slice(-25).map(({ text }) => `  | ${text}`);
  return new KindlingError(
    'KND_TIMEOUT',
    `the node got no further for ${STAGE_DEADLINE_MS / 1000} s\n${tail.join('\n')}`,
  );
}

function whereToLookNext({ keep }: DemoOptions): string {
  const lines = [
    ['docs/README.md', 'what there is to read'],
    ['npm run qemu -- --help', 'run one action in a virtual machine'],
    ['npm run kindling -- serve', 'the orchestrator for your own machines'],
    ...(keep ? [] : [['npm run demo -- --keep', 'the same, and node and orchestrator stay up']]),
  ];
  return ['Where to look next:', ...lines.map(([what = '', why]) => `  ${what.padEnd(28)} ${why}`)].join(
    '\n',
  );
}

/** Until Ctrl-C, or until the node is switched off from inside. */
async function keepRunning({ machine, url, output, signal }: Watch): Promise<void> {
  output.print(`\nNode and orchestrator stay up: curl ${url}/api/v1/nodes. Ctrl-C ends both.`);
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  machine.console.onEnd(() => resolve());
  await promise;
}
