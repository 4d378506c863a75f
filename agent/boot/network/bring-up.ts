import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { KindlingError } from '../../../protocol/error.ts';
import type { PhysicalNic } from '../../identity/mac-addresses.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import type { Run } from '../../system/run.ts';
import { waitFor } from '../../system/wait.ts';
import type { View } from '../console/view.ts';
import type { DhcpClients } from './dhcp-client.ts';
import { diagnose, type NetworkTimeouts } from './diagnose.ts';
import type { Lease } from './lease.ts';
import type { NetworkPlan } from './network-plan.ts';
import {
  bondOperations,
  defaultRouteOperations,
  leaseOperations,
  perform,
  routeOperations,
  vlanOperations,
} from './operations.ts';
import { type WantedPort, wantedPorts } from './ports.ts';
import { reaches, type Target } from './reach.ts';
import { hostsFile, resolvConf } from './resolver-files.ts';

export interface NetworkContext {
  files: MachineFiles;
  run: Run;
  dhcp: DhcpClients;
  view: View;
  listNics: () => PhysicalNic[];
  /** PCI network cards no driver took, for people. */
  cardsWithoutDriver: () => string[];
  bootMac: string | undefined;
  /** The orchestrator: the card that reaches one of these is chosen. Empty: the first card with an address. */
  targets: readonly Target[];
  timeouts: NetworkTimeouts;
  signal: AbortSignal;
}

export interface Network {
  chosen: Lease | undefined;
  leases: Lease[];
  ntpServers: string[];
}

interface Port extends WantedPort {
  index: number;
  linkSince: number | undefined;
  lease: Lease | undefined;
  fingerprint: string | undefined;
  metric: number;
  reach: 'untried' | 'trying' | 'yes' | 'no';
  reachTriedAt: number;
  endWait: () => void;
  waitsFor: string | undefined;
}

const CHOSEN_METRIC = 50;
/** How long another card's success waits for the card that booted, and how long all wait for one that reaches the orchestrator. */
const BOOT_NIC_GRACE_MS = 4000;
const REACH_PATIENCE_MS = 20_000;
const FIRST_TABLE = 100;

/** Brings the network up as planned and returns when it is usable; then keeps it: later leases and cards are still taken care of. */
export async function bringUpNetwork(plan: NetworkPlan, context: NetworkContext): Promise<Network> {
  const keeper = createKeeper(plan, context);
  if (plan.interfaces.length === 0) return keeper.network();
  await keeper.prepare();
  await waitFor(keeper.tick, {
    name: 'the network',
    timeoutMs: Number.POSITIVE_INFINITY, // each kind of trouble has its own deadline and code
    intervalMs: 250,
    signal: context.signal,
  });
  keeper.keep();
  return keeper.network();
}

function createKeeper(plan: NetworkPlan, context: NetworkContext) {
  const { files, run, dhcp, view, timeouts, targets } = context;
  const ports = new Map<string, Port>();
  const startedAt = performance.now();
  let firstLeaseAt: number | undefined;
  let chosen: Port | undefined;

  const leases = () => [...ports.values()].flatMap(({ lease }) => (lease ? [lease] : []));
  const network = (): Network => ({
    chosen: chosen?.lease,
    leases: leases(),
    ntpServers: [...new Set([...plan.ntpServers, ...leases().flatMap(({ ntpServers }) => ntpServers)])],
  });

  /** Names, bonds and VLANs of the kernel command line. */
  async function prepare() {
    for (const { mac, name } of plan.renames) {
      const nic = context.listNics().find((card) => card.mac === mac || card.permanentMac === mac);
      if (nic && nic.name !== name) {
        await perform(
          [{ ip: ['link', 'set', nic.name, 'down'] }, { ip: ['link', 'set', nic.name, 'name', name] }],
          run,
        );
      }
    }
    if (plan.bonds.length > 0) await run('modprobe', ['bonding', 'max_bonds=0'], { okExitCodes: [0, 1] });
    for (const bond of plan.bonds) {
      await waitFor(
        () => bond.members.every((member) => files.number(`/sys/class/net/${member}/ifindex`)) || undefined,
        {
          name: `${bond.members.join(' and ')}, members of ${bond.name},`,
          timeoutMs: timeouts.nicMs,
          code: 'KND_NET_SETUP',
          signal: context.signal,
        },
      );
      await perform(bondOperations(bond), run);
      view.line('network', `${bond.name}: bond of ${bond.members.join(', ')}`);
    }
    const needsVlan = plan.vlans.length > 0 || plan.interfaces.some(({ vlanId }) => vlanId !== undefined);
    if (needsVlan) await run('modprobe', ['8021q'], { okExitCodes: [0, 1] });
    for (const vlan of plan.vlans) await perform(vlanOperations(vlan), run);
  }

  /** One look at everything; answers true once the network is usable. */
  async function tick(): Promise<true | undefined> {
    for (const wanted of wantedPorts(plan, context.listNics(), context.bootMac)) {
      if (!ports.has(wanted.device)) await addPort(wanted);
    }
    for (const port of ports.values()) await look(port);
    const winner = chooseNow();
    if (winner && winner !== chosen) await choose(winner);
    if (chosen) return true;
    const trouble = diagnose(
      performance.now() - startedAt,
      [...ports.values()].map((port) => ({
        device: port.device,
        hasLink: port.linkSince !== undefined,
        linkMs: port.linkSince === undefined ? 0 : performance.now() - port.linkSince,
        hasLease: port.lease !== undefined,
      })),
      context.cardsWithoutDriver(),
      timeouts,
    );
    if (trouble) {
      for (const port of ports.values()) port.endWait();
      throw trouble;
    }
    return undefined;
  }

  async function addPort(wanted: WantedPort) {
    const index = ports.size;
    ports.set(wanted.device, {
      ...wanted,
      index,
      linkSince: undefined,
      lease: undefined,
      fingerprint: undefined,
      metric: 100 + index * 10,
      reach: 'untried',
      reachTriedAt: 0,
      endWait: () => {},
      waitsFor: undefined,
    });
    if (wanted.vlan) await perform(vlanOperations(wanted.vlan), run);
    const { mtu } = wanted.plan;
    await perform(
      [
        ...(mtu ? [{ ip: ['link', 'set', wanted.device, 'mtu', String(mtu)] }] : []),
        { ip: ['link', 'set', wanted.device, 'up'] },
      ],
      run,
    );
  }

  async function look(port: Port) {
    const hasLink = files.number(`/sys/class/net/${port.device}/carrier`) === 1;
    if (hasLink && port.linkSince === undefined) {
      port.linkSince = performance.now();
      const speed = files.number(`/sys/class/net/${port.device}/speed`);
      view.line(
        'network',
        `${port.device}: link up${speed && speed > 0 ? `, ${speed} Mbit/s` : ''}${port.isBootNic ? ', the machine booted from it' : ''}`,
      );
    } else if (!hasLink && port.linkSince !== undefined) {
      port.linkSince = undefined;
      view.line('network', `${port.device}: link lost`);
    }
    if (hasLink && port.plan.method.kind === 'dhcp' && !dhcp.isRunning(port.device)) dhcp.start(port.device);
    await takeLease(port);
    if (port.lease && targets.length > 0 && hasLink) tryToReach(port, port.lease);
    const waitsFor = !hasLink
      ? `link on ${port.device}`
      : !port.lease
        ? `${port.plan.method.kind === 'dhcp' ? 'DHCP' : 'an address'} on ${port.device}`
        : undefined;
    if (waitsFor === port.waitsFor) return;
    port.endWait();
    port.waitsFor = waitsFor;
    port.endWait = waitsFor ? view.waiting('network', waitsFor) : () => {};
  }

  async function takeLease(port: Port) {
    const found = readLease(port);
    if (!found || found.fingerprint === port.fingerprint) return;
    const { lease } = found;
    if (port.lease && port.lease.address !== lease.address)
      await perform([{ ip: ['addr', 'flush', 'dev', port.device] }], run);
    await perform(
      [
        ...leaseOperations(lease, FIRST_TABLE + port.index, port.metric),
        ...plan.routes.flatMap(routeOperations),
      ],
      run,
    );
    const isRenewal = port.lease !== undefined;
    Object.assign(port, { lease, fingerprint: found.fingerprint, reach: 'untried' });
    firstLeaseAt ??= performance.now();
    if (port.plan.hostname ?? lease.hostname) setHostname(port.plan.hostname ?? lease.hostname ?? '');
    writeResolverFiles();
    const gateway = lease.gateways[0] ? ` via ${lease.gateways[0]}` : '';
    view.line(
      'network',
      `${port.device}: ${lease.address}/${lease.prefix}${gateway} (${lease.source})${isRenewal ? ', changed' : ''}`,
    );
  }

  function readLease({ device, plan: { method } }: Port): { lease: Lease; fingerprint: string } | undefined {
    if (method.kind === 'dhcp') return dhcp.lease(device);
    const fixed = {
      interface: device,
      routes: [],
      nameservers: [],
      searchDomains: [],
      ntpServers: [],
      source: 'fixed',
    } as const satisfies Partial<Lease>;
    if (method.kind === 'static') {
      const { address, prefix, gateway } = method;
      return {
        lease: { ...fixed, address, prefix, gateways: gateway ? [gateway] : [] },
        fingerprint: address,
      };
    }
    const address = globalIpv6Address(files, device); // the kernel does it alone, from router advertisements
    return address
      ? { lease: { ...fixed, address, prefix: 64, gateways: [] }, fingerprint: address }
      : undefined;
  }

  function tryToReach(port: Port, lease: Lease) {
    const isDue =
      port.reach === 'untried' || (port.reach === 'no' && performance.now() - port.reachTriedAt > 3000);
    if (!isDue) return;
    port.reach = 'trying';
    port.reachTriedAt = performance.now();
    void reaches(lease, targets, 4000).then((target) => {
      port.reach = target ? 'yes' : 'no';
    });
  }

  function chooseNow(): Port | undefined {
    if (chosen && (targets.length === 0 || chosen.reach !== 'no')) return chosen;
    const usable = [...ports.values()].filter((port) => port.lease && port.linkSince !== undefined);
    const sinceLease = firstLeaseAt === undefined ? 0 : performance.now() - firstLeaseAt;
    const ready = targets.length === 0 ? usable : usable.filter(({ reach }) => reach === 'yes');
    const bootPort = [...ports.values()].find(
      ({ isBootNic, linkSince }) => isBootNic && linkSince !== undefined,
    );
    const best = ready.find(({ isBootNic }) => isBootNic) ?? ready[0];
    if (best && (best.isBootNic || !bootPort || bootPort.reach === 'no' || sinceLease > BOOT_NIC_GRACE_MS))
      return best;
    if (usable.length === 0 || sinceLease < REACH_PATIENCE_MS || chosen) return chosen;
    return best ?? usable[0];
  }

  async function choose(port: Port) {
    const previous = chosen;
    chosen = port;
    if (port.lease) await perform(defaultRouteOperations(port.lease, port.metric, CHOSEN_METRIC), run);
    port.metric = CHOSEN_METRIC;
    if (previous?.lease) {
      const metric = 100 + previous.index * 10;
      await perform(defaultRouteOperations(previous.lease, previous.metric, metric), run);
      previous.metric = metric;
    }
    writeResolverFiles();
    const where = targets.map(({ host, port: number }) => `${host}:${number}`).join(', ');
    if (targets.length > 0 && port.reach !== 'yes') {
      view.notice(
        'network',
        new KindlingError(
          'KND_NET_UNREACHABLE',
          `${where} cannot be reached through any card; going on with ${port.device}`,
        ),
      );
    } else {
      view.line('network', `using ${port.device}${targets.length > 0 ? `, it reaches ${where}` : ''}`);
    }
  }

  function writeResolverFiles() {
    const ordered = [
      ...(chosen?.lease ? [chosen.lease] : []),
      ...leases().filter((lease) => lease !== chosen?.lease),
    ];
    writeText(files.path('/etc/resolv.conf'), resolvConf(ordered, plan));
    const hosts = files.path('/etc/hosts');
    writeText(hosts, hostsFile(readText(hosts)));
  }

  function setHostname(name: string) {
    try {
      writeFileSync(files.path('/proc/sys/kernel/hostname'), name);
    } catch {
      // cosmetic
    }
  }

  function keep() {
    let isBusy = false;
    const ticker = setInterval(async () => {
      if (isBusy) return;
      isBusy = true;
      await tick().catch(() => {}); // shown by whoever needs the network; the next tick tries again
      isBusy = false;
    }, 2000);
    ticker.unref();
    context.signal.addEventListener('abort', () => clearInterval(ticker), { once: true });
  }

  return { prepare, tick, keep, network };
}

/** From /proc/net/if_inet6: address, index, prefix, scope (00 is global), flags, name. */
function globalIpv6Address(files: MachineFiles, device: string): string | undefined {
  for (const line of (files.text('/proc/net/if_inet6') ?? '').split('\n')) {
    const [hex = '', , , scope, , name] = line.trim().split(/\s+/);
    if (name === device && scope === '00') return (hex.match(/..../g) ?? []).join(':');
  }
  return undefined;
}

function writeText(file: string, text: string): void {
  if (readText(file) === text) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
