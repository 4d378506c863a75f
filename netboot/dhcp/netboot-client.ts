import { DhcpMessageType, DhcpOption } from '../../protocol/dhcp/options.ts';
import { type DhcpPacket, macOf } from '../../protocol/dhcp/packet.ts';
import { type BootBinary, chooseArchitecture } from './architectures.ts';

/** What a DHCP packet says about the machine that wants to boot. */
export interface NetbootClient {
  mac: string;
  /** How it loads files: TFTP (PXE) or HTTP. */
  kind: 'PXEClient' | 'HTTPClient';
  architectureName: string;
  binary: BootBinary | undefined;
  /** `kindling` and `Tinkerbell` are iPXE with a script of ours; plain `iPXE` is somebody else's build. */
  stage: 'firmware' | 'foreign-ipxe' | 'our-ipxe';
}

/** Either a client that boots over the network, or the reason why this packet is not from one. */
export type Classified = { client: NetbootClient } | { client: undefined; reason: string };

const OUR_USER_CLASSES = ['kindling', 'Tinkerbell'];

/** Recognizes network-boot clients by the rules real clients follow (RFC 4578; the same test Smee makes). */
export function classifyClient(packet: DhcpPacket): Classified {
  const type = packet.options.get(DhcpOption.messageType)?.[0];
  if (type !== DhcpMessageType.discover && type !== DhcpMessageType.request) {
    return no(`message type ${type ?? 'missing'} is neither DISCOVER nor REQUEST`);
  }
  const vendorClass = packet.options.get(DhcpOption.vendorClass)?.toString('latin1') ?? '';
  const kind = (['PXEClient', 'HTTPClient'] as const).find((prefix) => vendorClass.startsWith(prefix));
  if (!kind) return no(`vendor class "${vendorClass}" is not a network-boot client`);

  const architectures = packet.options.get(DhcpOption.clientArchitecture);
  if (!architectures || architectures.length < 2) return no('option 93 (architecture) is missing');
  if (!packet.options.has(DhcpOption.clientNetworkInterface)) {
    return no('option 94 (network interface) is missing');
  }
  const machineId = packet.options.get(DhcpOption.clientMachineIdentifier);
  if (machineId && machineId.length > 0 && (machineId.length !== 17 || machineId[0] !== 0)) {
    return no('option 97 (machine identifier) is not 17 bytes starting with 0');
  }

  const mac = macOf(packet);
  const architecture = chooseArchitecture(readWords(architectures), mac);
  return {
    client: {
      mac,
      kind,
      architectureName: architecture?.name ?? `unknown (${readWords(architectures).join(', ')})`,
      binary: architecture?.binary,
      stage: stageOf(userClasses(packet)),
    },
  };
}

/** Option 77 as iPXE sends it (one raw string) and as RFC 3004 says (each class with its length before it). */
function userClasses(packet: DhcpPacket): string[] {
  const value = packet.options.get(DhcpOption.userClass);
  if (!value || value.length === 0) return [];
  const classes: string[] = [];
  for (let at = 0; at < value.length; ) {
    const length = value[at] ?? 0;
    if (length === 0 || at + 1 + length > value.length) return [value.toString('latin1')];
    classes.push(value.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return classes;
}

function stageOf(classes: string[]): NetbootClient['stage'] {
  if (classes.some((name) => OUR_USER_CLASSES.includes(name))) return 'our-ipxe';
  return classes.includes('iPXE') ? 'foreign-ipxe' : 'firmware';
}

function readWords(bytes: Buffer): number[] {
  return Array.from({ length: Math.floor(bytes.length / 2) }, (_, index) => bytes.readUInt16BE(index * 2));
}

function no(reason: string): Classified {
  return { client: undefined, reason };
}
