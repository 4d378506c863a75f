import { describe, expect, it } from 'vitest';
import { BootHistory } from '../../../netboot/dhcp/boot-history.ts';
import { type DhcpMode, type DhcpSite, decideReply } from '../../../netboot/dhcp/decide-reply.ts';
import { replyAddress } from '../../../netboot/dhcp/reply-address.ts';
import type { Reservation } from '../../../netboot/dhcp/reservation.ts';
import { DhcpMessageType, DhcpOption } from '../../../protocol/dhcp/options.ts';
import {
  addressBytes,
  type DhcpPacket,
  decodeDhcpPacket,
  encodeDhcpPacket,
} from '../../../protocol/dhcp/packet.ts';
import { rounds, testIntegers } from '../../seeds/seeds.ts';
import { readUdpDatagrams } from './pcap.ts';

const MAC = '52:54:00:00:00:07';
const known: Reservation = {
  mac: MAC,
  address: '10.9.0.7',
  subnetMask: '255.255.255.0',
  gateway: '10.9.0.1',
};

function site(mode: DhcpMode, reservation?: Reservation, urls: Partial<DhcpSite['urls']> = {}): DhcpSite {
  return {
    mode,
    serverAddress: '10.9.0.1',
    urls: {
      tftpAddress: '10.9.0.1',
      tftpPort: 69,
      binaryBase: 'http://10.9.0.1:8080/ipxe/',
      script: 'http://10.9.0.1:8080/tink-stack/boot.ipxe?mac={mac}',
      ...urls,
    },
    reservations: { find: (mac) => (reservation?.mac === mac ? reservation : undefined) },
  };
}

function pxePacket(
  overrides: {
    type?: keyof typeof DhcpMessageType;
    architecture?: number;
    options?: [number, Buffer][];
    kind?: string;
  } = {},
): DhcpPacket {
  const architecture = Buffer.alloc(2);
  architecture.writeUInt16BE(overrides.architecture ?? 7);
  return {
    op: 1,
    hardwareType: 1,
    hops: 0,
    transactionId: 42,
    seconds: 0,
    flags: 0x8000,
    clientAddress: '0.0.0.0',
    yourAddress: '0.0.0.0',
    nextServerAddress: '0.0.0.0',
    relayAddress: '0.0.0.0',
    clientHardwareAddress: Buffer.from(MAC.replaceAll(':', ''), 'hex'),
    serverName: '',
    bootFile: '',
    options: new Map<number, Buffer>([
      [DhcpOption.messageType, Buffer.of(DhcpMessageType[overrides.type ?? 'discover'])],
      [DhcpOption.vendorClass, Buffer.from(overrides.kind ?? 'PXEClient:Arch:00007:UNDI:003000')],
      [DhcpOption.clientArchitecture, architecture],
      [DhcpOption.clientNetworkInterface, Buffer.of(1, 3, 0)],
      ...(overrides.options ?? []),
    ]),
  };
}

const text = (packet: DhcpPacket | undefined, code: number) => packet?.options.get(code)?.toString('latin1');

describe('auto-proxy mode', () => {
  it('gives any client its boot file and never an address', () => {
    const { reply } = decideReply(pxePacket(), 67, site('auto-proxy'));
    expect(reply?.yourAddress).toBe('0.0.0.0');
    expect(reply?.options.has(DhcpOption.leaseSeconds)).toBe(false);
    expect(reply?.bootFile).toBe('ipxe.efi');
    expect(text(reply, DhcpOption.vendorClass)).toBe('PXEClient');
    expect(reply?.options.get(DhcpOption.vendorSpecific)).toEqual(Buffer.of(6, 1, 8, 255));
  });

  it('leaves REQUESTs on port 67 to the server that gives addresses, and answers them on 4011', () => {
    const request = pxePacket({ type: 'request' });
    expect(decideReply(request, 67, site('auto-proxy')).reply).toBeUndefined();
    const { reply } = decideReply(request, 4011, site('auto-proxy'));
    expect(reply?.options.get(DhcpOption.messageType)).toEqual(Buffer.of(DhcpMessageType.ack));
    expect(reply?.bootFile).toBe('ipxe.efi');
  });

  it('answers HTTP boot with a full address and the vendor class the firmware looks for', () => {
    const { reply } = decideReply(
      pxePacket({ kind: 'HTTPClient:Arch:00016:UNDI:003000', architecture: 16 }),
      67,
      site('auto-proxy'),
    );
    expect(text(reply, DhcpOption.vendorClass)).toBe('HTTPClient');
    expect(text(reply, DhcpOption.bootFileName)).toBe('http://10.9.0.1:8080/ipxe/ipxe.efi\0');
  });

  it.each([
    ['Tinkerbell', 'raw', 'http://10.9.0.1:8080/tink-stack/boot.ipxe?mac=52:54:00:00:00:07'],
    ['Tinkerbell', 'rfc3004', 'http://10.9.0.1:8080/tink-stack/boot.ipxe?mac=52:54:00:00:00:07'],
    ['iPXE', 'raw', 'tftp://10.9.0.1:69/52:54:00:00:00:07/ipxe.efi'],
  ])('gives user class %s (%s) the next stage', (userClass, form, bootFile) => {
    const value =
      form === 'raw' ? Buffer.from(userClass) : Buffer.from([userClass.length, ...Buffer.from(userClass)]);
    const { reply } = decideReply(
      pxePacket({ options: [[DhcpOption.userClass, value]] }),
      67,
      site('auto-proxy'),
    );
    expect(reply?.bootFile).toBe(bootFile);
  });

  it('lets a foreign iPXE run the script when the site says so', () => {
    const packet = pxePacket({ options: [[DhcpOption.userClass, Buffer.from('iPXE')]] });
    expect(
      decideReply(packet, 67, site('auto-proxy', undefined, { foreignIpxeRunsScript: true })).reply?.bootFile,
    ).toContain('boot.ipxe');
  });

  it('lets any iPXE run the script under BIOS: given our undionly.kpxe, which says nothing else of itself, it would ask for ever', () => {
    const packet = pxePacket({ architecture: 0, options: [[DhcpOption.userClass, Buffer.from('iPXE')]] });
    expect(decideReply(packet, 67, site('auto-proxy')).reply?.bootFile).toContain('boot.ipxe');
  });

  it.each([
    [0, 'undionly.kpxe'],
    [7, 'ipxe.efi'],
    [9, 'ipxe.efi'],
  ])('gives architecture %i the file %s', (architecture, file) => {
    expect(decideReply(pxePacket({ architecture }), 67, site('auto-proxy')).reply?.bootFile).toBe(file);
  });

  it.each([
    [6, 'x86 UEFI (ia32)'],
    [11, 'ARM 64-bit UEFI'],
    [14, 'POWER OPAL v3'],
  ])('says nothing to architecture %i, for which it has no file, and says why', (architecture, name) => {
    const silence = { reply: undefined, reason: `no boot file for ${name}` };
    expect(decideReply(pxePacket({ architecture }), 67, site('auto-proxy'))).toEqual(silence);
  });

  it('gives an ARM machine no file that stands in for iPXE either', () => {
    const override = { HTTPClient: 'https://mirror.example/uki.efi' };
    const packet = pxePacket({ kind: 'HTTPClient', architecture: 19 });
    expect(decideReply(packet, 67, site('auto-proxy', undefined, { override }))).toEqual({
      reply: undefined,
      reason: 'no boot file for ARM 64-bit UEFI HTTP',
    });
  });

  it('puts a boot file that is too long for the header into option 67 alone', () => {
    const long = `https://mirror.example/${'x'.repeat(150)}/uki.efi`;
    const { reply } = decideReply(
      pxePacket({ kind: 'HTTPClient', architecture: 16 }),
      67,
      site('auto-proxy', undefined, { override: { HTTPClient: long } }),
    );
    expect(reply?.bootFile).toBe('');
    expect(text(reply, DhcpOption.bootFileName)).toBe(`${long}\0`);
  });

  it.each([
    ['no vendor class', [[DhcpOption.vendorClass, Buffer.from('udhcp 1.35.0')]]],
    ['a malformed machine identifier', [[DhcpOption.clientMachineIdentifier, Buffer.alloc(3)]]],
    ['a truncated architecture', [[DhcpOption.clientArchitecture, Buffer.of(0)]]],
  ] as [string, [number, Buffer][]][])('ignores a client with %s', (_, options) => {
    expect(decideReply(pxePacket({ options }), 67, site('auto-proxy')).reply).toBeUndefined();
  });
});

describe('proxy mode', () => {
  it('answers only machines of the site', () => {
    expect(decideReply(pxePacket(), 67, site('proxy')).reply).toBeUndefined();
    expect(decideReply(pxePacket(), 67, site('proxy', known)).reply?.bootFile).toBe('ipxe.efi');
  });

  it('says nothing to a machine that may not boot from the network', () => {
    expect(
      decideReply(pxePacket(), 67, site('proxy', { ...known, allowsNetboot: false })).reply,
    ).toBeUndefined();
  });
});

describe('reservation mode', () => {
  it('gives a known machine its address, its network and its boot file', () => {
    const { reply } = decideReply(pxePacket(), 67, site('reservation', known));
    expect(reply?.yourAddress).toBe('10.9.0.7');
    expect(reply?.options.get(DhcpOption.broadcastAddress)).toEqual(Buffer.of(10, 9, 0, 255));
    expect(reply?.options.get(DhcpOption.router)).toEqual(addressBytes('10.9.0.1'));
    expect(reply?.options.get(DhcpOption.leaseSeconds)?.readUInt32BE()).toBe(604_800);
    expect(reply?.bootFile).toBe('ipxe.efi');
  });

  it('is silent for a machine it does not know', () => {
    expect(decideReply(pxePacket(), 67, site('reservation')).reply).toBeUndefined();
  });

  it('gives a client that is not booting its address alone', () => {
    const packet = pxePacket({ options: [[DhcpOption.vendorClass, Buffer.from('udhcp 1.35.0')]] });
    const { reply } = decideReply(packet, 67, site('reservation', known));
    expect(reply?.yourAddress).toBe('10.9.0.7');
    expect(reply?.bootFile).toBe('');
  });

  it('refuses a foreign address and stays out of another server’s lease', () => {
    const wrong = pxePacket({
      type: 'request',
      options: [[DhcpOption.requestedAddress, Buffer.of(10, 9, 0, 99)]],
    });
    expect(
      decideReply(wrong, 67, site('reservation', known)).reply?.options.get(DhcpOption.messageType),
    ).toEqual(Buffer.of(6));
    const foreign = pxePacket({
      type: 'request',
      options: [[DhcpOption.serverIdentifier, Buffer.of(10, 9, 0, 200)]],
    });
    expect(decideReply(foreign, 67, site('reservation', known)).reply).toBeUndefined();
  });

  it('carries back client identifier, machine identifier and the relay’s option', () => {
    const relayed = pxePacket({
      options: [
        [DhcpOption.clientIdentifier, Buffer.of(1, 2)],
        [DhcpOption.clientMachineIdentifier, Buffer.alloc(17)],
        [DhcpOption.relayAgentInformation, Buffer.of(1, 1, 9)],
      ],
    });
    relayed.relayAddress = '10.20.0.1';
    const { reply } = decideReply(relayed, 67, site('reservation', known));
    expect(reply?.options.get(DhcpOption.relayAgentInformation)).toEqual(Buffer.of(1, 1, 9));
    expect(reply?.options.get(DhcpOption.clientIdentifier)).toEqual(Buffer.of(1, 2));
    expect(reply && replyAddress(reply, 67, { address: '10.20.0.1', port: 67 })).toEqual({
      address: '10.20.0.1',
      port: 67,
    });
  });
});

it('says nothing at all when DHCP is off', () => {
  expect(decideReply(pxePacket(), 67, site('off', known)).reply).toBeUndefined();
});

it('takes no harm from real packets that were changed anywhere (100,000 seeded), and gives no address as a proxy', () => {
  const real = ['uefi-pxe-proxydhcp.pcap', 'bios-ipxe-rom-proxydhcp.pcap']
    .flatMap(readUdpDatagrams)
    .filter(({ destinationPort }) => destinationPort === 67 || destinationPort === 4011);
  const sites = [site('auto-proxy'), site('proxy', known), site('reservation', known)];
  const random = testIntegers(0x5eed);
  let answered = 0;
  for (let round = 0; round < rounds(100_000); round += 1) {
    const bytes = Buffer.from(real[random(real.length)]?.payload ?? []);
    for (let flips = 1 + random(6); flips > 0; flips -= 1) bytes[random(bytes.length)] = random(256);
    let packet: DhcpPacket;
    try {
      packet = decodeDhcpPacket(bytes);
    } catch {
      continue; // which ones, and that they have a code: test/protocol/dhcp
    }
    const here = sites[random(sites.length)] ?? site('off');
    const { reply } = decideReply(packet, random(2) === 0 ? 67 : 4011, here);
    if (!reply) continue;
    answered += 1;
    if (here.mode !== 'reservation') expect(reply.yourAddress).toBe('0.0.0.0');
    encodeDhcpPacket(reply);
  }
  expect(answered).toBeGreaterThan(10_000);
});

describe('an iPXE that ignores its own script', () => {
  const foreign = (transactionId: number, type: 'discover' | 'request' = 'discover') => ({
    ...pxePacket({ type, options: [[DhcpOption.userClass, Buffer.from('iPXE')]] }),
    transactionId,
  });
  const firmware = (transactionId: number) => ({ ...pxePacket(), transactionId });

  /** What the packets get, one after the other, a number of seconds apart. */
  function play(packets: DhcpPacket[], secondsApart = 5): (string | undefined)[] {
    let nowMs = 0;
    const history = new BootHistory(() => nowMs);
    return packets.map((packet) => {
      nowMs += secondsApart * 1000;
      const { reply } = decideReply(packet, 67, site('reservation', known), history);
      return reply?.bootFile.replace(/^.*[/]/, '').replace(/[?].*/, '');
    });
  }

  it('is given the script when it comes back, not itself again: in the offer and in the acknowledgment', () => {
    expect(play([foreign(1), foreign(1, 'request'), foreign(2), foreign(2, 'request')])).toEqual([
      'ipxe.efi',
      'ipxe.efi',
      'boot.ipxe',
      'boot.ipxe',
    ]);
  });

  it('is recognized after plain firmware too', () => {
    expect(play([firmware(1), foreign(2)])).toEqual(['ipxe.efi', 'boot.ipxe']);
  });

  it('starts anew after a reset: the option ROM loads our iPXE first', () => {
    expect(play([foreign(1), foreign(2), foreign(3), foreign(4)])).toEqual([
      'ipxe.efi',
      'boot.ipxe',
      'ipxe.efi',
      'boot.ipxe',
    ]);
  });

  it('is not suspected a minute later', () => {
    expect(play([foreign(1), foreign(2)], 61)).toEqual(['ipxe.efi', 'ipxe.efi']);
  });

  it('is logged', () => {
    const history = new BootHistory();
    decideReply(foreign(1), 67, site('reservation', known), history);
    expect(decideReply(foreign(2), 67, site('reservation', known), history).reason).toContain('no loop');
  });
});
