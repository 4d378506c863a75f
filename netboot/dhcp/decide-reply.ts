import {
  DhcpMessageType,
  DhcpOption,
  PxeSubOption,
  USE_THIS_BOOT_FILE,
} from '../../protocol/dhcp/options.ts';
import { addressBytes, addressText, type DhcpPacket, macOf } from '../../protocol/dhcp/packet.ts';
import { type BootUrls, bootFileFor } from './boot-file.ts';
import { BootHistory } from './boot-history.ts';
import { classifyClient, type NetbootClient } from './netboot-client.ts';
import type { Reservation, Reservations } from './reservation.ts';

/**
 * reservation: we give addresses and boot files, to machines we know.
 * proxy: another server gives addresses; we add the boot file, for machines we know.
 * auto-proxy: the same for every machine. off: never a word.
 */
export type DhcpMode = 'reservation' | 'proxy' | 'auto-proxy' | 'off';

export interface DhcpSite {
  mode: DhcpMode;
  /** Our own address on this network. */
  serverAddress: string;
  urls: BootUrls;
  reservations: Reservations;
}

/** What to do with a packet, and why: the reason is for the log and for `pxe doctor`. */
export type Decision = { reply: DhcpPacket; reason: string } | { reply: undefined; reason: string };

const DEFAULT_LEASE_SECONDS = 604_800;
const NETBOOT_NOT_ALLOWED = '/netboot-not-allowed';

/** Decides the answer to one packet that came in on a port (67, or 4011 for the PXE boot service). */
export function decideReply(
  packet: DhcpPacket,
  port: 67 | 4011,
  site: DhcpSite,
  history: BootHistory = new BootHistory(),
): Decision {
  if (packet.op !== 1) return silence('not from a client');
  switch (site.mode) {
    case 'off':
      return silence('DHCP is off');
    case 'reservation':
      return port === 4011
        ? answerBootService(packet, site, history)
        : answerWithAddress(packet, site, history);
    case 'proxy':
    case 'auto-proxy':
      return port === 4011 ? answerBootService(packet, site, history) : answerAsProxy(packet, site, history);
  }
}

function answerWithAddress(packet: DhcpPacket, site: DhcpSite, history: BootHistory): Decision {
  const type = packet.options.get(DhcpOption.messageType)?.[0];
  if (type !== DhcpMessageType.discover && type !== DhcpMessageType.request) {
    return silence(`message type ${type ?? 'missing'} needs no answer`);
  }
  const reservation = site.reservations.find(macOf(packet));
  if (!reservation) return silence(`no reservation for ${macOf(packet)}`);

  if (type === DhcpMessageType.request) {
    const chosen = packet.options.get(DhcpOption.serverIdentifier);
    if (chosen && addressText(chosen) !== site.serverAddress) {
      return silence(`the client took the offer of ${addressText(chosen)}`);
    }
    const wanted = packet.options.get(DhcpOption.requestedAddress);
    const wantedAddress = wanted?.length === 4 ? addressText(wanted) : packet.clientAddress;
    if (wantedAddress !== '0.0.0.0' && wantedAddress !== reservation.address) {
      return refuse(packet, site, `${wantedAddress} is not this machine's address ${reservation.address}`);
    }
  }

  const reply = replyTo(packet, type === DhcpMessageType.discover ? 'offer' : 'ack', site);
  reply.yourAddress = reservation.address;
  addLease(reply, reservation);
  const classified = classifyClient(packet);
  if (!classified.client) {
    reply.nextServerAddress = site.serverAddress;
    return { reply, reason: `address only: ${classified.reason}` };
  }
  if (reservation.allowsNetboot === false) {
    reply.bootFile = NETBOOT_NOT_ALLOWED;
    return { reply, reason: 'address only: this machine may not boot from the network' };
  }
  const { bootFile, remark } = chooseBootFile(packet, classified.client, site, history);
  if (!bootFile)
    return { reply, reason: `address only: no boot file for ${classified.client.architectureName}` };
  addBootFile(reply, classified.client, bootFile, site);
  return {
    reply,
    reason: `${reservation.address} and ${bootFile} for ${classified.client.architectureName}${remark}`,
  };
}

function answerAsProxy(packet: DhcpPacket, site: DhcpSite, history: BootHistory): Decision {
  const classified = classifyClient(packet);
  if (!classified.client) return silence(classified.reason);
  if (packet.options.get(DhcpOption.messageType)?.[0] === DhcpMessageType.request) {
    // On port 67 a REQUEST settles the address with the site's own server. A proxy that answers it confuses clients.
    return silence('a REQUEST on port 67 belongs to the server that gives addresses');
  }
  return proxyAnswer(packet, classified.client, 'offer', { site, history });
}

/** The PXE boot service on port 4011: the client has its address and asks only for the boot file. */
function answerBootService(packet: DhcpPacket, site: DhcpSite, history: BootHistory): Decision {
  const classified = classifyClient(packet);
  if (!classified.client) return silence(classified.reason);
  return proxyAnswer(packet, classified.client, 'ack', { site, history });
}

function proxyAnswer(
  packet: DhcpPacket,
  client: NetbootClient,
  type: 'offer' | 'ack',
  { site, history }: { site: DhcpSite; history: BootHistory },
): Decision {
  const reservation = site.reservations.find(client.mac);
  if (!reservation && site.mode !== 'auto-proxy')
    return silence(`${client.mac} is not a machine of this site`);
  if (reservation?.allowsNetboot === false) return silence(`${client.mac} may not boot from the network`);
  const { bootFile, remark } = chooseBootFile(packet, client, site, history);
  if (!bootFile) return silence(`no boot file for ${client.architectureName}`);
  const reply = replyTo(packet, type, site);
  addBootFile(reply, client, bootFile, site);
  reply.options.set(DhcpOption.vendorClass, Buffer.from(client.kind, 'latin1'));
  return { reply, reason: `${bootFile} for ${client.architectureName}${remark}` };
}

function chooseBootFile(
  packet: DhcpPacket,
  client: NetbootClient,
  site: DhcpSite,
  history: BootHistory,
): { bootFile: string | undefined; remark: string } {
  const isLooping = history.isLooping(client, packet.transactionId);
  const urls = isLooping ? { ...site.urls, foreignIpxeRunsScript: true } : site.urls;
  return {
    bootFile: bootFileFor(client, urls),
    remark: isLooping ? ' (came back as an iPXE that is not ours right after it got ours: no loop)' : '',
  };
}

function addBootFile(reply: DhcpPacket, client: NetbootClient, bootFile: string, site: DhcpSite): void {
  reply.nextServerAddress = site.urls.tftpAddress;
  reply.options.set(DhcpOption.bootFileName, Buffer.from(`${bootFile}\0`, 'latin1'));
  // The header's field ends at 127 characters; long addresses go into option 67 alone.
  if (bootFile.length < 128) reply.bootFile = bootFile;
  if (client.kind === 'HTTPClient') {
    reply.options.set(DhcpOption.vendorClass, Buffer.from('HTTPClient', 'latin1'));
    return;
  }
  reply.serverName = site.urls.tftpAddress;
  reply.options.set(DhcpOption.vendorClass, Buffer.from('PXEClient', 'latin1'));
  reply.options.set(DhcpOption.tftpServerName, Buffer.from(site.urls.tftpAddress, 'latin1'));
  reply.options.set(
    DhcpOption.vendorSpecific,
    Buffer.of(PxeSubOption.discoveryControl, 1, USE_THIS_BOOT_FILE, PxeSubOption.end),
  );
}

function addLease(reply: DhcpPacket, reservation: Reservation): void {
  const { options } = reply;
  const lease = Buffer.alloc(4);
  lease.writeUInt32BE(reservation.leaseSeconds ?? DEFAULT_LEASE_SECONDS);
  options.set(DhcpOption.leaseSeconds, lease);
  options.set(DhcpOption.subnetMask, addressBytes(reservation.subnetMask));
  options.set(DhcpOption.broadcastAddress, broadcastOf(reservation.address, reservation.subnetMask));
  if (reservation.gateway) options.set(DhcpOption.router, addressBytes(reservation.gateway));
  setList(options, DhcpOption.dnsServers, reservation.dnsServers);
  setList(options, DhcpOption.ntpServers, reservation.ntpServers);
  if (reservation.hostName) options.set(DhcpOption.hostName, Buffer.from(reservation.hostName, 'latin1'));
  if (reservation.domainName)
    options.set(DhcpOption.domainName, Buffer.from(reservation.domainName, 'latin1'));
}

function refuse(packet: DhcpPacket, site: DhcpSite, why: string): Decision {
  const reply = replyTo(packet, 'nak', site);
  reply.options.set(DhcpOption.message, Buffer.from(why, 'latin1'));
  return { reply, reason: `refused: ${why}` };
}

/** A reply carries back what the client and the relay sent to be recognized by: xid, flags, giaddr, options 61, 82, 97. */
function replyTo(packet: DhcpPacket, type: 'offer' | 'ack' | 'nak', site: DhcpSite): DhcpPacket {
  const options = new Map<number, Buffer>([
    [DhcpOption.messageType, Buffer.of(DhcpMessageType[type])],
    [DhcpOption.serverIdentifier, addressBytes(site.serverAddress)],
  ]);
  for (const code of [
    DhcpOption.clientIdentifier,
    DhcpOption.clientMachineIdentifier,
    DhcpOption.relayAgentInformation,
  ]) {
    const value = packet.options.get(code);
    if (value) options.set(code, value);
  }
  return {
    op: 2,
    hardwareType: packet.hardwareType,
    hops: 0,
    transactionId: packet.transactionId,
    seconds: 0,
    flags: packet.flags,
    clientAddress: type === 'nak' ? '0.0.0.0' : packet.clientAddress,
    yourAddress: '0.0.0.0',
    nextServerAddress: '0.0.0.0',
    relayAddress: packet.relayAddress,
    clientHardwareAddress: packet.clientHardwareAddress,
    serverName: '',
    bootFile: '',
    options,
  };
}

function setList(options: Map<number, Buffer>, code: number, addresses: string[] | undefined): void {
  if (addresses && addresses.length > 0) options.set(code, Buffer.concat(addresses.map(addressBytes)));
}

function broadcastOf(address: string, mask: string): Buffer {
  const maskBytes = addressBytes(mask);
  return Buffer.from(
    [...addressBytes(address)].map((byte, index) => byte | (~(maskBytes[index] ?? 0) & 0xff)),
  );
}

function silence(reason: string): Decision {
  return { reply: undefined, reason };
}
