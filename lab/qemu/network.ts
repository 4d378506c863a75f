import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type Run, type RunResult, run } from '../../system/run.ts';
import { kill, makeFolder, removeFolder, startGuarded } from './processes.ts';

/**
 * A test network: a network namespace with bridges in it. Machines hang on a bridge by taps, servers live in the
 * namespace itself or, as "the customer's DHCP server", in namespaces of their own on the same bridge.
 * The namespaces have no names: a sleeping process holds each, so they vanish with this process and nothing is to clean up.
 * Needs root.
 *
 *   await using network = await createTestNetwork();
 *   const { bridge } = network;
 *   const dhcp = await bridge.addHost(2);
 *   await dhcp.startDnsmasq([`dhcp-range=${bridge.address(100)},${bridge.address(150)},1h`]);
 *   await using machine = await createMachine({ nics: [{ model: 'virtio', network: bridge }], … });
 */
export async function createTestNetwork(): Promise<TestNetwork> {
  const namespace = await Namespace.create();
  const bridge = await Bridge.create(namespace, 0);
  return {
    namespace,
    bridge,
    addBridge: (number) => Bridge.create(namespace, number),
    [Symbol.asyncDispose]: () => namespace[Symbol.asyncDispose](),
  };
}

export interface TestNetwork extends AsyncDisposable {
  namespace: Namespace;
  bridge: Bridge;
  /** A second, third … segment in the same namespace. */
  addBridge: (number: number) => Promise<Bridge>;
}

export class Namespace implements AsyncDisposable {
  readonly pid: number;
  /** Put this in front of a command to run it inside. */
  readonly enter: readonly string[];
  readonly #holder: ChildProcess;
  readonly #children: ChildProcess[] = [];
  readonly #namespaces: Namespace[] = [];
  readonly #folders: string[] = [];

  private constructor(holder: ChildProcess, pid: number) {
    this.#holder = holder;
    this.pid = pid;
    this.enter = ['nsenter', `--net=/proc/${pid}/ns/net`, '--'];
  }

  static async create(): Promise<Namespace> {
    const holder = startGuarded('unshare', ['--net', 'sh', '-c', 'echo ready; exec sleep infinity'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (holder.stdout) await once(holder.stdout, 'data');
    const namespace = new Namespace(holder, holder.pid ?? 0);
    await namespace.run('ip', ['link', 'set', 'lo', 'up']);
    return namespace;
  }

  /** Runs a program inside to its end. */
  readonly run: Run = (program, args, options): Promise<RunResult> => {
    const [enter = '', ...rest] = this.enter;
    return run(enter, [...rest, program, ...args], options);
  };

  /** Starts a server inside; it ends with the namespace. */
  start(program: string, args: readonly string[], onOutput: (text: string) => void = () => {}): ChildProcess {
    const [enter = '', ...rest] = this.enter;
    const child = startGuarded(enter, [...rest, program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout?.setEncoding('utf8').on('data', onOutput);
    child.stderr?.setEncoding('utf8').on('data', onOutput);
    this.#children.push(child);
    return child;
  }

  /** A folder for what is started inside: removed when nothing that could still write to it runs. */
  makeFolder(purpose: string): string {
    const folder = makeFolder(purpose);
    this.#folders.push(folder);
    return folder;
  }

  /** Starts a real dnsmasq (DHCP, TFTP; no DNS) on `eth0` or the given interface, with these lines of configuration. */
  async startDnsmasq(lines: readonly string[], networkInterface = 'eth0'): Promise<{ log: () => string }> {
    const folder = this.makeFolder('dnsmasq');
    let log = '';
    const started = Promise.withResolvers<void>();
    const options = [
      'port=0',
      `interface=${networkInterface}`,
      'bind-interfaces',
      'no-ping',
      'user=root',
      'log-dhcp',
    ];
    const child = this.start(
      'dnsmasq',
      [
        '--keep-in-foreground',
        '--conf-file=/dev/null',
        '--log-facility=-',
        `--dhcp-leasefile=${folder}/leases`,
        `--pid-file=${folder}/pid`,
        ...[...options, ...lines].map((line) => `--${line}`),
      ],
      (text) => {
        log += text;
        if (log.includes('started')) started.resolve();
      },
    );
    child.on('close', () => started.reject(new Error(`dnsmasq did not start: ${log}`)));
    await started.promise;
    return { log: () => log };
  }

  /** A namespace that goes when this one goes. */
  async addNamespace(): Promise<Namespace> {
    const namespace = await Namespace.create();
    this.#namespaces.push(namespace);
    return namespace;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const namespace of this.#namespaces) await namespace[Symbol.asyncDispose]();
    for (const child of this.#children) await kill(child);
    await kill(this.#holder);
    for (const folder of this.#folders) removeFolder(folder);
  }
}

export class Bridge {
  readonly namespace: Namespace;
  readonly name: string;
  /** Of the namespace on this bridge: 10.77.<number>.1. */
  readonly hostAddress: string;
  readonly #number: number;
  #hosts = 0;
  #taps = 0;

  private constructor(namespace: Namespace, number: number) {
    this.namespace = namespace;
    this.#number = number;
    this.name = `br${number}`;
    this.hostAddress = this.address(1);
  }

  static async create(namespace: Namespace, number: number): Promise<Bridge> {
    const bridge = new Bridge(namespace, number);
    const { name } = bridge;
    await namespace.run('ip', [
      'link',
      'add',
      name,
      'type',
      'bridge',
      'stp_state',
      '0',
      'forward_delay',
      '0',
    ]);
    await namespace.run('ip', ['address', 'add', `${bridge.hostAddress}/24`, 'dev', name]);
    await namespace.run('ip', ['link', 'set', name, 'up']);
    // Without a default route a socket cannot send to 255.255.255.255, which every DHCP server does.
    await namespace.run('ip', ['route', 'replace', '255.255.255.255', 'dev', name]);
    return bridge;
  }

  /** An address of this segment: address(100) → 10.77.0.100. */
  address(last: number): string {
    return `10.77.${this.#number}.${last}`;
  }

  /** A namespace of its own on this bridge, with the interface eth0 and the address address(last). */
  async addHost(last: number): Promise<Namespace> {
    const host = await this.namespace.addNamespace();
    const port = `${this.name}p${this.#hosts++}`;
    const peer = ['type', 'veth', 'peer', 'name', 'eth0', 'netns', String(host.pid)];
    await this.namespace.run('ip', ['link', 'add', port, ...peer]);
    await this.namespace.run('ip', ['link', 'set', port, 'master', this.name, 'up']);
    await host.run('ip', ['address', 'add', `${this.address(last)}/24`, 'dev', 'eth0']);
    await host.run('ip', ['link', 'set', 'eth0', 'up']);
    await host.run('ip', ['route', 'add', '255.255.255.255', 'dev', 'eth0']);
    return host;
  }

  /** A new tap on this bridge, for one NIC of one machine. */
  async addTap(): Promise<string> {
    const tap = `${this.name}t${this.#taps++}`;
    await this.namespace.run('ip', ['tuntap', 'add', 'dev', tap, 'mode', 'tap']);
    await this.namespace.run('ip', ['link', 'set', tap, 'master', this.name, 'up']);
    return tap;
  }
}
