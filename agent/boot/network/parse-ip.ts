import { isIP, isIPv4 } from 'node:net';
import { parseMac } from '../../../formats/mac-address.ts';
import { KindlingError } from '../../../protocol/error.ts';
import type { InterfacePlan, NicSelector } from './network-plan.ts';

const DHCP_WORDS = new Set(['dhcp', 'on', 'any', 'both', 'single-dhcp', 'dhcp4', 'either6']);
const STATIC_WORDS = new Set(['none', 'off', '']);

interface ParsedIp {
  interface: InterfacePlan;
  nameservers: string[];
  ntpServers: string[];
}

/**
 * One `ip=` argument in any form of dracut.cmdline(7) and of the kernel (nfsroot.rst):
 *   dhcp | <interface>:dhcp[:mtu[:mac]] | <client>:[peer]:<gateway>:<netmask>:<hostname>:<interface>:<method>[:dns1[:dns2[:ntp]]] or [:mtu[:mac]]
 * undefined for "no network, please" (ip=off, ip=none).
 */
export function parseIp(argument: string): ParsedIp | undefined {
  const fields = splitFields(argument);
  const bad = (why: string) => badArgument(`ip=${argument}`, why);
  const [first = '', second = ''] = fields;
  if (fields.length === 1) {
    if (STATIC_WORDS.has(first)) return undefined;
    return plain({ nic: 'every', method: methodOf(first, bad) });
  }
  if (!isIP(first) && first !== '' && fields.length <= 4) {
    return plain({ nic: selectorOf(first), method: methodOf(second, bad), ...mtuOf(fields[2], bad) });
  }
  return parseLongForm(fields, bad);
}

function parseLongForm(fields: readonly string[], bad: (why: string) => KindlingError): ParsedIp {
  const [client = '', , gateway = '', netmask = '', hostname = '', device = '', word = '', ...rest] = fields;
  const nic: NicSelector = device === '' ? 'every' : selectorOf(device);
  const isMtu = rest[0] !== undefined && /^\d+$/.test(rest[0]);
  const servers = isMtu ? [] : rest;
  for (const server of servers) if (server && !isIP(server)) throw bad(`"${server}" is not an IP address`);
  const common = {
    nic,
    ...(hostname ? { hostname } : {}),
    ...(isMtu ? mtuOf(rest[0], bad) : {}),
  };
  const found = {
    nameservers: servers.slice(0, 2).filter(Boolean),
    ntpServers: servers.slice(2, 3).filter(Boolean),
  };
  if (client === '') return { interface: { ...common, method: methodOf(word, bad) }, ...found };
  const [address = '', slashPrefix] = client.split('/');
  if (!isIP(address)) throw bad(`"${client}" is not an IP address`);
  if (gateway && !isIP(gateway)) throw bad(`the gateway "${gateway}" is not an IP address`);
  if (!STATIC_WORDS.has(word) && !DHCP_WORDS.has(word)) throw bad(`"${word}" is not a method`);
  const prefix = prefixOf(slashPrefix ?? netmask, address, bad);
  return {
    interface: { ...common, method: { kind: 'static', address, prefix, ...(gateway ? { gateway } : {}) } },
    ...found,
  };
}

function plain(plan: InterfacePlan): ParsedIp {
  return { interface: plan, nameservers: [], ntpServers: [] };
}

function methodOf(word: string, bad: (why: string) => KindlingError): InterfacePlan['method'] {
  if (DHCP_WORDS.has(word)) return { kind: 'dhcp' };
  if (word === 'auto6' || word === 'link6') return { kind: 'auto6' };
  if (word === 'dhcp6') throw bad('DHCPv6 is not supported; use auto6 or a fixed address');
  if (STATIC_WORDS.has(word)) throw bad('a fixed address is missing');
  throw bad(`"${word}" is not a method (dhcp, on, any, auto6, none)`);
}

function mtuOf(text: string | undefined, bad: (why: string) => KindlingError): { mtu?: number } {
  if (!text) return {};
  const mtu = Number(text);
  if (!Number.isInteger(mtu) || mtu < 68 || mtu > 65_535) throw bad(`"${text}" is not an MTU`);
  return { mtu };
}

function selectorOf(text: string): NicSelector {
  const mac = /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text) ? parseMac(text) : undefined;
  return mac ? { mac } : { name: text };
}

/** 255.255.255.0 or 24; an address without either is a host of its own. */
export function prefixOf(netmask: string, address: string, bad: (why: string) => KindlingError): number {
  const bits = isIPv4(address) ? 32 : 128;
  if (netmask === '') return bits === 32 ? classfulPrefix(address) : 64;
  if (/^\d+$/.test(netmask) && Number(netmask) <= bits) return Number(netmask);
  if (!isIPv4(netmask)) throw bad(`"${netmask}" is not a netmask`);
  const binary = netmask
    .split('.')
    .map((byte) => Number(byte).toString(2).padStart(8, '0'))
    .join('');
  if (!/^1*0*$/.test(binary)) throw bad(`"${netmask}" is not a netmask`);
  return binary.indexOf('0') < 0 ? 32 : binary.indexOf('0');
}

/** What the kernel assumes when no netmask is given. */
function classfulPrefix(address: string): number {
  const first = Number(address.split('.')[0]);
  return first < 128 ? 8 : first < 192 ? 16 : 24;
}

/** At colons, but an IPv6 address in brackets stays whole. */
export function splitFields(text: string): string[] {
  return [...`:${text}`.matchAll(/:(\[[^\]]*\](?:\/\d+)?|[^:]*)/g)].map(([, field = '']) =>
    field.replace(/^\[(.*)\]/, '$1'),
  );
}

export function badArgument(argument: string, why: string): KindlingError {
  return new KindlingError('KND_NET_ARGUMENT', `the kernel argument ${argument} is wrong: ${why}`);
}
