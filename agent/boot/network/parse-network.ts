import { isIP } from 'node:net';
import { parseMac } from '../../../formats/mac-address.ts';
import type { KernelArguments } from '../../../system/kernel-arguments.ts';
import type { BondPlan, InterfacePlan, NetworkPlan } from './network-plan.ts';
import { badArgument, parseIp, prefixOf, splitFields } from './parse-ip.ts';

/**
 * What the kernel command line asks of the network, in dracut's and Tinkerbell's words. Without any of them: DHCP on every
 * card. Pure; a wrong argument throws KND_NET_ARGUMENT.
 */
export function parseNetwork(args: KernelArguments): NetworkPlan {
  const ips = args.all('ip').map(parseIp);
  const ipams = args.all('ipam').map(parseIpam);
  const plan: NetworkPlan = {
    renames: args.all('ifname').map(parseIfname),
    bonds: args.entries.flatMap(({ key, value }) => (key === 'bond' ? [parseBond(value ?? '')] : [])),
    vlans: args.all('vlan').map(parseVlan),
    interfaces: [...ips, ...ipams].flatMap((parsed) => (parsed ? [parsed.interface] : [])),
    routes: args.all('rd.route').map(parseRoute),
    nameservers: [
      ...args.all('nameserver').map(parseNameserver),
      ...[...ips, ...ipams].flatMap((parsed) => parsed?.nameservers ?? []),
    ],
    searchDomains: ipams.flatMap(({ searchDomains }) => searchDomains),
    ntpServers: [
      ...commaList(args.last('kindling.ntp')),
      ...[...ips, ...ipams].flatMap((parsed) => parsed?.ntpServers ?? []),
    ],
  };
  const isSwitchedOff = ips.includes(undefined);
  if (plan.interfaces.length === 0 && !isSwitchedOff) plan.interfaces.push(...defaultInterfaces(args, plan));
  return plan;
}

/** DHCP on the VLANs and bonds that were asked for, on Tinkerbell's hw_addr/vlan_id or `interface`, or on every card. */
function defaultInterfaces(args: KernelArguments, { vlans, bonds }: NetworkPlan): InterfacePlan[] {
  const made = [...vlans, ...bonds.filter(({ name }) => !vlans.some(({ parent }) => parent === name))];
  if (made.length > 0) return made.map(({ name }) => ({ nic: { name }, method: { kind: 'dhcp' } }));
  const name = args.last('interface');
  const mac = parseMac(args.last('hw_addr') ?? '');
  const vlanId = parseVlanId(args.last('vlan_id'), 'vlan_id');
  if (vlanId !== undefined) {
    return [{ nic: name ? { name } : mac ? { mac } : 'every', vlanId, method: { kind: 'dhcp' } }];
  }
  return [{ nic: name ? { name } : 'every', method: { kind: 'dhcp' } }];
}

/** Tinkerbell: ipam=<mac>:<vlan>:<ip>:<mask>:<gateway>:<hostname>:<dns>:<search>:<ntp>; the MAC with dashes, lists with commas. */
function parseIpam(argument: string) {
  const bad = (why: string) => badArgument(`ipam=${argument}`, why);
  const [macText = '', vlan = '', address = '', mask = '', gateway = '', hostname = '', dns, search, ntp] =
    splitFields(argument);
  const mac = parseMac(macText);
  if (!mac) throw bad(`"${macText}" is not a MAC address`);
  if (!isIP(address)) throw bad(`"${address}" is not an IP address`);
  if (gateway && !isIP(gateway)) throw bad(`the gateway "${gateway}" is not an IP address`);
  const nameservers = commaList(dns);
  for (const server of nameservers)
    if (!isIP(server)) throw bad(`the name server "${server}" is not an IP address`);
  const vlanId = parseVlanId(vlan, `ipam=${argument}`);
  const plan: InterfacePlan = {
    nic: { mac },
    ...(vlanId ? { vlanId } : {}),
    method: {
      kind: 'static',
      address,
      prefix: prefixOf(mask, address, bad),
      ...(gateway ? { gateway } : {}),
    },
    ...(hostname ? { hostname } : {}),
  };
  return { interface: plan, nameservers, searchDomains: commaList(search), ntpServers: commaList(ntp) };
}

/** dracut: vlan=<name>:<parent>; the name carries the number: vlan5, vlan0005, eth0.5, eth0.0005. */
function parseVlan(argument: string): NetworkPlan['vlans'][number] {
  const bad = (why: string) => badArgument(`vlan=${argument}`, why);
  const [name = '', parent = ''] = argument.split(':');
  const id = Number(/(?:^vlan|\.)0*(\d+)$/.exec(name)?.[1]);
  if (!(id >= 1 && id <= 4094)) throw bad(`"${name}" names no VLAN (vlan5, eth0.5)`);
  if (parent === '') throw bad('the parent interface is missing');
  return { name, parent, id };
}

/** dracut: bond=<name>[:<members>[:<options>[:<mtu>]]]; the defaults are dracut's. */
function parseBond(argument: string): BondPlan {
  const [name = '', members = '', options = '', mtu] = splitFields(argument);
  return {
    name: name || 'bond0',
    members: members ? commaList(members) : ['eth0', 'eth1'],
    options: Object.fromEntries(
      (options || 'mode=balance-rr')
        .split(/[,;]/)
        .filter(Boolean)
        .map((option) => {
          const [key, value] = option.split('=');
          if (!key || !value) throw badArgument(`bond=${argument}`, `the option "${option}" has no value`);
          return [key, value];
        }),
    ),
    ...(mtu ? { mtu: Number(mtu) } : {}),
  };
}

function parseIfname(argument: string): { mac: string; name: string } {
  const [, name, macText] = /^([^:]+):(.+)$/.exec(argument) ?? [];
  const mac = parseMac(macText ?? '');
  if (!name || !mac) throw badArgument(`ifname=${argument}`, 'it is <name>:<MAC address>');
  return { mac, name };
}

/** dracut: rd.route=<net>/<prefix>:<gateway>[:<interface>]. */
function parseRoute(argument: string): NetworkPlan['routes'][number] {
  const [to = '', gateway = '', device] = splitFields(argument);
  const [net = '', prefix = ''] = to.split('/');
  if (!isIP(net) || !/^\d+$/.test(prefix) || !isIP(gateway)) {
    throw badArgument(`rd.route=${argument}`, 'it is <net>/<prefix>:<gateway>[:<interface>]');
  }
  return { to, gateway, ...(device ? { interface: device } : {}) };
}

function parseNameserver(argument: string): string {
  const address = argument.replace(/^\[(.*)\]$/, '$1');
  if (!isIP(address)) throw badArgument(`nameserver=${argument}`, 'it is not an IP address');
  return address;
}

function parseVlanId(text: string | undefined, argument: string): number | undefined {
  if (!text || text === '0') return undefined;
  const id = Number(text);
  if (!Number.isInteger(id) || id < 1 || id > 4094) throw badArgument(argument, `"${text}" is not a VLAN`);
  return id;
}

function commaList(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
}
