import type { Discovery } from '../nodes/discovery.ts';
import type { Host } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import { isPlainValue, refuseStructure } from '../workflow/definition.ts';
import type { TemplateData } from '../workflow/go-template/values.ts';
import { type HardwareObject, hardwareData } from '../workflow/hardware.ts';

/** What is known of a node's hardware: our inventory, else what a Tinkerbell agent said of itself. */
export interface KnownHardware {
  inventory: Discovery | undefined;
  /** AgentAttributes in their JSON form. */
  attributes?: unknown;
  ntpServers?: readonly string[];
}

/** `.Hardware`, `.hardware` and `.references` of a node, for every workflow that it gets. */
export function nodeHardware(host: Host, known: KnownHardware): { [key: string]: TemplateData } {
  const object = hardwareObject(host, known);
  // All of it may come from the node, and is put into the text of a template.
  refuseStructure('Hardware', object);
  return hardwareData(object);
}

export async function knownHardware(hosts: HostTable, host: Host): Promise<KnownHardware> {
  return { inventory: await hosts.inventory(host.id), attributes: await hosts.attributes(host.id) };
}

/** A Hardware object as an operator of Tinkerbell would have written it for this node. */
function hardwareObject(host: Host, known: KnownHardware): HardwareObject {
  const mac = host.reportedMac ?? host.mac ?? '';
  const hostname = isPlainValue(host.name) ? host.name : host.id;
  const disks = diskPaths(known);
  return {
    metadata: { name: host.id },
    spec: {
      agentID: mac,
      disks: disks.map((device) => ({ device })),
      interfaces: nicsOf(known, mac).map((nic) => ({
        netboot: { allowPXE: true, allowWorkflow: true },
        dhcp: {
          mac: nic.mac.toLowerCase(),
          hostname,
          iface_name: nic.name,
          arch: known.inventory?.cpu?.architecture ?? 'x86_64',
          uefi: known.inventory?.firmware ? known.inventory.firmware.kind === 'uefi' : true,
          name_servers: [],
          time_servers: [...(known.ntpServers ?? [])],
          ip: addressOf(nic, nic.isBootNic ? host.reportedIp : null),
        },
      })),
      metadata: {
        instance: {
          id: host.id,
          hostname,
          allow_pxe: true,
          storage: { disks: disks.map((device) => ({ device })) },
        },
      },
    },
  };
}

/** Empty until the machine has told of itself. */
function diskPaths({ inventory, attributes }: KnownHardware): string[] {
  if (inventory) return (inventory.disks ?? []).filter(({ kind }) => kind === 'disk').map(({ path }) => path);
  return attributesList(attributes, 'block').flatMap(({ name }) => (name ? [`/dev/${name}`] : []));
}

interface NicFacts {
  name: string;
  mac: string;
  addresses: readonly string[];
  isBootNic: boolean;
}

/** The card it boots from first: templates take the first. */
function nicsOf({ inventory, attributes }: KnownHardware, mac: string): NicFacts[] {
  const reported: {
    name?: string;
    mac?: string | undefined;
    addresses?: string[] | undefined;
    isBootNic?: boolean | undefined;
  }[] = inventory ? (inventory.nics ?? []) : attributesList(attributes, 'network');
  const nics = reported.map((nic) => ({
    name: nic.name ?? '',
    mac: nic.mac ?? '',
    addresses: nic.addresses ?? [],
    isBootNic: nic.isBootNic || nic.mac?.toLowerCase() === mac.toLowerCase(),
  }));
  if (nics.length === 0 && mac) return [{ name: '', mac, addresses: [], isBootNic: true }];
  return nics.toSorted((a, b) => Number(b.isBootNic) - Number(a.isBootNic));
}

function attributesList(attributes: unknown, key: string): { name?: string; mac?: string }[] {
  const list = (attributes as Record<string, unknown> | undefined)?.[key];
  return Array.isArray(list) ? (list as { name?: string; mac?: string }[]) : [];
}

function addressOf({ addresses }: NicFacts, reportedIp: string | null): Record<string, unknown> | undefined {
  const cidr = addresses.find((each) => !each.includes(':')) ?? addresses[0] ?? reportedIp;
  if (!cidr) return undefined;
  const [address = '', prefix] = cidr.split('/');
  const isIpv6 = address.includes(':');
  return {
    address,
    netmask: prefix === undefined || isIpv6 ? '' : netmaskOf(Number(prefix)),
    family: isIpv6 ? 6 : 4,
  };
}

function netmaskOf(prefix: number): string {
  const bits = '1'.repeat(Math.min(prefix, 32)).padEnd(32, '0');
  return [0, 8, 16, 24].map((at) => Number.parseInt(bits.slice(at, at + 8), 2)).join('.');
}
