import type { NetworkInterfaceInfo } from 'node:os';
import { KindlingError } from '../../protocol/error.ts';
import type { Identity } from '../../protocol/identity.ts';
import type { Config } from '../config/resolve-config.ts';

/** What the onboarding and workflow servers are told about the node, exactly as it goes over the wire. */
export interface NodeFacts {
  uuid: string;
  serial: string;
  /** Also the worker id: servers compare both byte for byte. */
  mac: string;
  ip: string;
}

export type Interfaces = NodeJS.Dict<NetworkInterfaceInfo[]>;

/**
 * Decides what to report. The serial number goes out as the firmware has it, spaces and placeholders included: the server
 * replaces what it does not like by N/A, and something "cleaned" could match another machine's registration.
 */
export function decideNodeFacts(config: Config, identity: Identity, interfaces: Interfaces): NodeFacts {
  const mac = config.workerId ?? config.mac ?? identity.bootMac ?? identity.macs[0];
  if (mac === undefined) {
    throw new KindlingError(
      'KND_CONFIG_MISSING',
      'there is no worker_id and no network card with a MAC address',
    );
  }
  return {
    uuid: config.uuid ?? identity.uuid ?? asFound(identity, 'uuid') ?? '',
    serial: config.serial ?? asFound(identity, 'serial') ?? identity.serial ?? '',
    mac,
    ip: config.ip ?? addressOf(mac, identity, interfaces) ?? config.bootIp ?? '',
  };
}

function asFound(identity: Identity, field: 'uuid' | 'serial'): string | undefined {
  return identity.evidence.find((entry) => entry.field === field && entry.value !== '')?.value;
}

/** The first IPv4 of the NIC with that MAC; if the id is no MAC of ours, of the NIC that booted, then of any. */
function addressOf(mac: string, identity: Identity, interfaces: Interfaces): string | undefined {
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const usable = all.filter(({ family, internal }) => family === 'IPv4' && !internal);
  const plain = (text: string) => text.toLowerCase().replaceAll('-', ':');
  const byMac = (wanted: string | undefined) =>
    wanted === undefined ? undefined : usable.find((address) => address.mac === plain(wanted))?.address;
  return byMac(mac) ?? byMac(identity.bootMac) ?? usable[0]?.address;
}
