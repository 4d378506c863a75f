import { writeFile } from 'node:fs/promises';
import { KindlingError } from '../../../protocol/error.ts';
import type { Run } from '../../../system/run.ts';
import type { Lease } from './lease.ts';
import type { BondPlan, NetworkPlan, RoutePlan } from './network-plan.ts';

/** One step of configuring the network: a call of busybox' ip, or a write into /sys. Plans are lists of these. */
export type Operation = { ip: string[] } | { write: string; to: string };

/** Does the steps in order. A thing that is already as wanted is fine: the agent may have been restarted. */
export async function perform(operations: readonly Operation[], run: Run): Promise<void> {
  for (const operation of operations) {
    if ('ip' in operation) await runIp(operation.ip, run);
    else await writeSetting(operation);
  }
}

async function runIp(args: readonly string[], run: Run): Promise<void> {
  try {
    await run('ip', args);
  } catch (thrown) {
    const text = thrown instanceof KindlingError ? thrown.message : String(thrown);
    if (!/File exists|already exists/i.test(text)) throw thrown;
  }
}

async function writeSetting({ write, to }: { write: string; to: string }): Promise<void> {
  try {
    await writeFile(to, write);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'EEXIST' || code === 'EBUSY') return;
    throw new KindlingError('KND_NET_SETUP', `"${write}" could not be written to ${to}`, { cause });
  }
}

/** The bond itself; its options must be set before it has members, and members join while they are down. */
export function bondOperations({ name, members, options, mtu }: BondPlan): Operation[] {
  const folder = `/sys/class/net/${name}`;
  return [
    { write: `+${name}`, to: '/sys/class/net/bonding_masters' },
    ...['mode', ...Object.keys(options).filter((key) => key !== 'mode')].flatMap((key) =>
      options[key] === undefined ? [] : [{ write: options[key], to: `${folder}/bonding/${key}` }],
    ),
    ...(options['miimon'] === undefined && options['arp_interval'] === undefined
      ? [{ write: '100', to: `${folder}/bonding/miimon` }] // without it a dead link is never noticed
      : []),
    ...members.flatMap((member) => [
      { ip: ['link', 'set', member, 'down'] },
      { write: `+${member}`, to: `${folder}/bonding/slaves` },
    ]),
    ...(mtu ? [{ ip: ['link', 'set', name, 'mtu', String(mtu)] }] : []),
    { ip: ['link', 'set', name, 'up'] },
  ];
}

export function vlanOperations({ name, parent, id }: NetworkPlan['vlans'][number]): Operation[] {
  return [
    { ip: ['link', 'set', parent, 'up'] },
    { ip: ['link', 'add', 'link', parent, 'name', name, 'type', 'vlan', 'id', String(id)] },
    { ip: ['link', 'set', name, 'up'] },
  ];
}

/**
 * Address, routes and, in a table of its own, routes for packets that come from this address: so that answers and our own
 * connections leave by the right card even when several have a default route. `metric` orders the default routes.
 */
export function leaseOperations(lease: Lease, table: number, metric: number): Operation[] {
  const { interface: device, address, prefix, mtu } = lease;
  const isIpv6 = address.includes(':');
  const any = isIpv6 ? '::/0' : 'default';
  const defaults =
    lease.routes.length > 0 ? [] : lease.gateways.slice(0, 1).map((gateway) => ({ to: any, gateway }));
  const routes = [
    ...lease.routes.map(({ to, gateway }) => ({ to: to === '0.0.0.0/0' ? any : to, gateway })),
    ...defaults,
  ];
  const subnet = isIpv6 ? undefined : networkOf(address, prefix);
  return [
    ...(mtu ? [{ ip: ['link', 'set', device, 'mtu', String(mtu)] }] : []),
    { ip: ['addr', 'add', `${address}/${prefix}`, ...(isIpv6 ? [] : ['broadcast', '+']), 'dev', device] },
    ...routes.flatMap(({ to, gateway }) => [
      ...(gateway === '0.0.0.0'
        ? [{ ip: ['route', 'replace', to, 'dev', device, 'metric', String(metric)] }]
        : [
            ...(subnet && !isInside(gateway, address, prefix)
              ? [{ ip: ['route', 'replace', gateway, 'dev', device] }] // a gateway outside our own net, as some clouds have it
              : []),
            { ip: ['route', 'replace', to, 'via', gateway, 'dev', device, 'metric', String(metric)] },
            ...(isIpv6
              ? []
              : [{ ip: ['route', 'replace', to, 'via', gateway, 'dev', device, 'table', String(table)] }]),
          ]),
    ]),
    ...(subnet ? [{ ip: ['route', 'replace', subnet, 'dev', device, 'table', String(table)] }] : []),
    ...(isIpv6 ? [] : [{ ip: ['rule', 'add', 'from', address, 'table', String(table)] }]),
  ];
}

/** Moves the default route of one interface to another place in the order. */
export function defaultRouteOperations(lease: Lease, oldMetric: number, newMetric: number): Operation[] {
  const via = lease.routes.find(({ to }) => to === '0.0.0.0/0')?.gateway ?? lease.gateways[0];
  if (!via || oldMetric === newMetric) return [];
  const route = (metric: number) => ['default', 'via', via, 'dev', lease.interface, 'metric', String(metric)];
  return [{ ip: ['route', 'replace', ...route(newMetric)] }, { ip: ['route', 'del', ...route(oldMetric)] }];
}

export function routeOperations({ to, gateway, interface: device }: RoutePlan): Operation[] {
  return [{ ip: ['route', 'replace', to, 'via', gateway, ...(device ? ['dev', device] : [])] }];
}

function networkOf(address: string, prefix: number): string {
  const bytes = toNumber(address) & maskOf(prefix);
  return `${[24, 16, 8, 0].map((shift) => (bytes >>> shift) & 0xff).join('.')}/${prefix}`;
}

function isInside(other: string, address: string, prefix: number): boolean {
  return (toNumber(other) & maskOf(prefix)) === (toNumber(address) & maskOf(prefix));
}

function toNumber(address: string): number {
  return address.split('.').reduce((sum, byte) => (sum << 8) | Number(byte), 0);
}

function maskOf(prefix: number): number {
  return prefix === 0 ? 0 : -1 << (32 - prefix);
}
