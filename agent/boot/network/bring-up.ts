import { writeFileSync } from 'node:fs';
import { KindlingError } from '../../../protocol/error.ts';
import { waitFor } from '../../../system/wait.ts';
import { choosePort, type PortFacts } from './choose-port.ts';
import { diagnose } from './diagnose.ts';
import type { Lease } from './lease.ts';
import type { NetworkContext } from './network-context.ts';
import type { NetworkPlan } from './network-plan.ts';
import {
  defaultRouteOperations,
  leaseOperations,
  perform,
  routeOperations,
  vlanOperations,
} from './operations.ts';
import { type WantedPort, wantedPorts } from './ports.ts';
import { prepareInterfaces } from './prepare.ts';
import { reaches } from './reach.ts';
import { readLease } from './read-lease.ts';
import { writeResolverFiles } from './resolver-files.ts';

export interface Network {
  chosen: Lease | undefined;
  leases: Lease[];
  ntpServers: string[];
}

interface Port extends WantedPort, PortFacts {
  index: number;
  linkSince: number;
  fingerprint: string | undefined;
  metric: number;
  reachTriedAt: number;
  waitsFor: string | undefined;
  endWait: () => void;
}

const CHOSEN_METRIC = 50;
const FIRST_TABLE = 100;
const REACH_AGAIN_MS = 3000;
const REACH_TIMEOUT_MS = 4000;
/** So that the inventory usually has the addresses of all cards, without a silent net holding up the boot. */
const OTHERS_PATIENCE_MS = 2500;

/** Brings the network up as planned and returns when it is usable; then keeps it: later leases and cards are still taken care of. */
export async function bringUpNetwork(plan: NetworkPlan, context: NetworkContext): Promise<Network> {
  const keeper = createKeeper(plan, context);
  if (plan.interfaces.length === 0) return keeper.network();
  await prepareInterfaces(plan, context);
  await waitFor(keeper.tick, {
    name: 'the network',
    timeoutMs: Number.POSITIVE_INFINITY, // each kind of trouble has its own deadline and code
    intervalMs: 250,
    signal: context.signal,
  });
  await waitFor(keeper.othersAreDone, {
    name: 'addresses on the other cards',
    timeoutMs: OTHERS_PATIENCE_MS,
    intervalMs: 250,
    signal: context.signal,
  }).catch(() => context.signal.throwIfAborted());
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
  const usualMetric = ({ index }: { index: number }) => 100 + index * 10;

  /** One look at everything; answers true once the network is usable. */
  async function tick(): Promise<true | undefined> {
    for (const wanted of wantedPorts(plan, context.listNics(), context.bootMac)) {
      if (!ports.has(wanted.device)) await addPort(wanted);
    }
    for (const port of ports.values()) await look(port);
    const choice = choosePort([...ports.values()], {
      hasTargets: targets.length > 0,
      sinceLeaseMs: firstLeaseAt === undefined ? 0 : performance.now() - firstLeaseAt,
      reachMs: timeouts.reachMs,
      current: chosen,
    });
    if (choice && choice !== chosen) await use(choice);
    if (chosen) return true;
    failIfHopeless();
    return undefined;
  }

  async function othersAreDone(): Promise<true | undefined> {
    await tick();
    return [...ports.values()].every(({ hasLink, lease }) => !hasLink || lease !== undefined) || undefined;
  }

  function failIfHopeless() {
    const states = [...ports.values()].map(({ device, hasLink, linkSince, lease }) => ({
      device,
      hasLink,
      linkMs: performance.now() - linkSince,
      hasLease: lease !== undefined,
    }));
    const trouble = diagnose(performance.now() - startedAt, states, context.cardsWithoutDriver(), timeouts);
    if (!trouble) return;
    for (const port of ports.values()) port.endWait();
    throw trouble;
  }

  async function addPort(wanted: WantedPort) {
    const { device, vlan } = wanted;
    const { mtu } = wanted.plan;
    if (vlan) await perform(vlanOperations(vlan), run);
    if (mtu) await perform([{ ip: ['link', 'set', device, 'mtu', String(mtu)] }], run);
    await perform([{ ip: ['link', 'set', device, 'up'] }], run);
    const index = ports.size;
    ports.set(device, {
      ...wanted,
      index,
      hasLink: false,
      linkSince: 0,
      lease: undefined,
      fingerprint: undefined,
      metric: usualMetric({ index }),
      reach: 'untried',
      reachTriedAt: 0,
      waitsFor: undefined,
      endWait: () => {},
    });
  }

  async function look(port: Port) {
    const { device } = port;
    const { method } = port.plan;
    const hadLink = port.hasLink;
    port.hasLink = files.number(`/sys/class/net/${device}/carrier`) === 1;
    if (port.hasLink && !hadLink) {
      port.linkSince = performance.now();
      const speed = files.number(`/sys/class/net/${device}/speed`) ?? 0;
      const notes = [speed > 0 ? `${speed} Mbit/s` : '', port.isBootNic ? 'the machine booted from it' : ''];
      view.line('network', [`${device}: link up`, ...notes.filter(Boolean)].join(', '));
    } else if (!port.hasLink && hadLink) view.line('network', `${device}: link lost`);

    if (port.hasLink && method.kind === 'dhcp' && !dhcp.isRunning(device)) dhcp.start(device);
    await takeLease(port);
    if (port.lease && port.hasLink) tryToReach(port, port.lease);

    const address = method.kind === 'dhcp' ? 'DHCP' : 'an address';
    const waitsFor = !port.hasLink ? `link on ${device}` : port.lease ? undefined : `${address} on ${device}`;
    if (waitsFor === port.waitsFor) return;
    port.endWait();
    port.waitsFor = waitsFor;
    port.endWait = waitsFor ? view.waiting('network', waitsFor) : () => {};
  }

  async function takeLease(port: Port) {
    const found = readLease(port.device, port.plan.method, context);
    if (!found || found.fingerprint === port.fingerprint) return;
    const { lease, fingerprint } = found;
    const isMoved = port.lease !== undefined && port.lease.address !== lease.address;
    if (isMoved) await perform([{ ip: ['addr', 'flush', 'dev', port.device] }], run);
    await perform(leaseOperations(lease, FIRST_TABLE + port.index, port.metric), run);
    await perform(plan.routes.flatMap(routeOperations), run);
    Object.assign(port, { lease, fingerprint, reach: 'untried' });
    firstLeaseAt ??= performance.now();
    setHostname(port.plan.hostname ?? lease.hostname);
    nameServersFirst(chosen);
    const gateway = lease.gateways[0] ? ` via ${lease.gateways[0]}` : '';
    view.line('network', `${port.device}: ${lease.address}/${lease.prefix}${gateway} (${lease.source})`);
  }

  function tryToReach(port: Port, lease: Lease) {
    const isDue = port.reach === 'no' && performance.now() - port.reachTriedAt > REACH_AGAIN_MS;
    if (targets.length === 0 || !(port.reach === 'untried' || isDue)) return;
    port.reach = 'trying';
    port.reachTriedAt = performance.now();
    void reaches(lease, targets, REACH_TIMEOUT_MS).then((target) => {
      port.reach = target ? 'yes' : 'no';
    });
  }

  async function use(port: Port) {
    const previous = chosen;
    chosen = port;
    await moveDefaultRoute(port, CHOSEN_METRIC);
    if (previous) await moveDefaultRoute(previous, usualMetric(previous));
    nameServersFirst(port);
    const where = targets.map(({ host, port: number }) => `${host}:${number}`).join(', ');
    if (targets.length === 0) view.line('network', `using ${port.device}`);
    else if (port.reach === 'yes') view.line('network', `using ${port.device}, it reaches ${where}`);
    else {
      const message = `${where} cannot be reached through any card; going on with ${port.device}`;
      view.notice('network', new KindlingError('KND_NET_UNREACHABLE', message));
    }
  }

  async function moveDefaultRoute(port: Port, metric: number) {
    if (port.lease) await perform(defaultRouteOperations(port.lease, port.metric, metric), run);
    port.metric = metric;
  }

  function nameServersFirst(first: Port | undefined) {
    const rest = leases().filter((lease) => lease !== first?.lease);
    writeResolverFiles(files, [...(first?.lease ? [first.lease] : []), ...rest], plan);
  }

  function setHostname(name: string | undefined) {
    if (name === undefined) return;
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
      await tick().catch(() => {}); // the code that needs the network shows it; the next tick tries again
      isBusy = false;
    }, 2000);
    ticker.unref();
    context.signal.addEventListener('abort', () => clearInterval(ticker), { once: true });
  }

  return {
    tick,
    othersAreDone,
    keep,
    network: (): Network => ({
      chosen: chosen?.lease,
      leases: leases(),
      ntpServers: [...new Set([...plan.ntpServers, ...leases().flatMap(({ ntpServers }) => ntpServers)])],
    }),
  };
}
