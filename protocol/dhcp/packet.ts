import { randomBytes } from 'node:crypto';
import { KindlingError } from '../error.ts';
import { DhcpOption } from './options.ts';

/** A BOOTP/DHCP packet (RFC 2131 2, figure 1), fields in the order of the wire. */
export interface DhcpPacket {
  /** 1 = from a client, 2 = from a server. */
  op: 1 | 2;
  hardwareType: number;
  hops: number;
  transactionId: number;
  seconds: number;
  /** Bit 15 asks for broadcast replies. */
  flags: number;
  clientAddress: string;
  yourAddress: string;
  nextServerAddress: string;
  relayAddress: string;
  /** The hardware address as it stands in the packet: hlen bytes. */
  clientHardwareAddress: Buffer;
  serverName: string;
  bootFile: string;
  /** Values by code; an option that comes in pieces is one value here (RFC 3396). */
  options: Map<number, Buffer>;
}

const BROADCAST_FLAG = 0x8000;

/** What a machine without an address asks the network, with an id of its own; answers are to be broadcast. */
export function newClientPacket(mac: string, options: DhcpPacket['options']): DhcpPacket {
  return {
    op: 1,
    hardwareType: 1,
    hops: 0,
    transactionId: randomBytes(4).readUInt32BE(),
    seconds: 0,
    flags: BROADCAST_FLAG,
    clientAddress: '0.0.0.0',
    yourAddress: '0.0.0.0',
    nextServerAddress: '0.0.0.0',
    relayAddress: '0.0.0.0',
    clientHardwareAddress: Buffer.from(mac.replaceAll(':', ''), 'hex'),
    serverName: '',
    bootFile: '',
    options,
  };
}

const MAGIC_COOKIE = 0x63825363;
const OFFSET = {
  op: 0,
  htype: 1,
  hlen: 2,
  hops: 3,
  xid: 4,
  secs: 8,
  flags: 10,
  ciaddr: 12,
  yiaddr: 16,
  siaddr: 20,
  giaddr: 24,
  chaddr: 28,
  sname: 44,
  file: 108,
  cookie: 236,
  options: 240,
} as const;
const CHADDR_BYTES = 16;
const SNAME_BYTES = 64;
const FILE_BYTES = 128;
/** BOOTP clients and relays drop anything shorter (RFC 1542 2.1). */
const MINIMUM_PACKET_BYTES = 300;

/** Reads a packet; anything that is not DHCP throws KND_DHCP_MALFORMED, whatever the bytes are. */
export function decodeDhcpPacket(bytes: Buffer): DhcpPacket {
  if (bytes.length < OFFSET.options) throw malformed(`${bytes.length} bytes are too few`);
  if (bytes.readUInt32BE(OFFSET.cookie) !== MAGIC_COOKIE) throw malformed('the magic cookie is missing');
  const op = bytes.readUInt8(OFFSET.op);
  if (op !== 1 && op !== 2) throw malformed(`operation ${op} does not exist`);
  const hardwareLength = bytes.readUInt8(OFFSET.hlen);
  if (hardwareLength > CHADDR_BYTES) throw malformed(`hardware address of ${hardwareLength} bytes`);

  const options = new Map<number, Buffer>();
  readOptions(bytes.subarray(OFFSET.options), options);
  const overload = options.get(DhcpOption.optionOverload)?.[0] ?? 0;
  const file = bytes.subarray(OFFSET.file, OFFSET.file + FILE_BYTES);
  const sname = bytes.subarray(OFFSET.sname, OFFSET.sname + SNAME_BYTES);
  if (overload & 1) readOptions(file, options);
  if (overload & 2) readOptions(sname, options);

  return {
    op,
    hardwareType: bytes.readUInt8(OFFSET.htype),
    hops: bytes.readUInt8(OFFSET.hops),
    transactionId: bytes.readUInt32BE(OFFSET.xid),
    seconds: bytes.readUInt16BE(OFFSET.secs),
    flags: bytes.readUInt16BE(OFFSET.flags),
    clientAddress: readAddress(bytes, OFFSET.ciaddr),
    yourAddress: readAddress(bytes, OFFSET.yiaddr),
    nextServerAddress: readAddress(bytes, OFFSET.siaddr),
    relayAddress: readAddress(bytes, OFFSET.giaddr),
    clientHardwareAddress: Buffer.from(bytes.subarray(OFFSET.chaddr, OFFSET.chaddr + hardwareLength)),
    serverName: overload & 2 ? '' : readText(sname),
    bootFile: overload & 1 ? '' : readText(file),
    options,
  };
}

/** Writes a packet. The message type comes first and the relay's own option last, as relays and old clients expect. */
export function encodeDhcpPacket(packet: DhcpPacket): Buffer {
  const head = Buffer.alloc(OFFSET.options);
  head.writeUInt8(packet.op, OFFSET.op);
  head.writeUInt8(packet.hardwareType, OFFSET.htype);
  head.writeUInt8(packet.clientHardwareAddress.length, OFFSET.hlen);
  head.writeUInt8(packet.hops, OFFSET.hops);
  head.writeUInt32BE(packet.transactionId, OFFSET.xid);
  head.writeUInt16BE(packet.seconds, OFFSET.secs);
  head.writeUInt16BE(packet.flags, OFFSET.flags);
  addressBytes(packet.clientAddress).copy(head, OFFSET.ciaddr);
  addressBytes(packet.yourAddress).copy(head, OFFSET.yiaddr);
  addressBytes(packet.nextServerAddress).copy(head, OFFSET.siaddr);
  addressBytes(packet.relayAddress).copy(head, OFFSET.giaddr);
  packet.clientHardwareAddress.copy(head, OFFSET.chaddr, 0, CHADDR_BYTES);
  writeText(head, OFFSET.sname, SNAME_BYTES, packet.serverName);
  writeText(head, OFFSET.file, FILE_BYTES, packet.bootFile);
  head.writeUInt32BE(MAGIC_COOKIE, OFFSET.cookie);

  const options = [...packet.options].sort(([a], [b]) => writeRank(a) - writeRank(b));
  const body = Buffer.concat([
    head,
    ...options.flatMap(([code, value]) => encodeOption(code, value)),
    Buffer.of(DhcpOption.end),
  ]);
  return body.length >= MINIMUM_PACKET_BYTES
    ? body
    : Buffer.concat([body, Buffer.alloc(MINIMUM_PACKET_BYTES - body.length)]);
}

/** "aa:bb:cc:dd:ee:ff" of the client, whatever hardware type it has. */
export function macOf(packet: DhcpPacket): string {
  return [...packet.clientHardwareAddress].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}

export function addressBytes(address: string): Buffer {
  const parts = address.split('.').map(Number);
  const isAddress =
    parts.length === 4 && parts.every((part) => Number.isInteger(part) && part >= 0 && part <= 255);
  if (!isAddress) throw new KindlingError('KND_USAGE', `"${address}" is not an IPv4 address`);
  return Buffer.from(parts);
}

export function addressText(bytes: Buffer): string {
  return [...bytes].join('.');
}

function readOptions(bytes: Buffer, options: Map<number, Buffer>): void {
  let at = 0;
  while (at < bytes.length) {
    const code = bytes.readUInt8(at);
    if (code === DhcpOption.end) return;
    if (code === DhcpOption.pad) {
      at += 1;
      continue;
    }
    const length = bytes[at + 1];
    if (length === undefined || at + 2 + length > bytes.length) {
      throw malformed(`option ${code} runs past the end of the packet`);
    }
    const value = Buffer.from(bytes.subarray(at + 2, at + 2 + length));
    const before = options.get(code);
    options.set(code, before ? Buffer.concat([before, value]) : value);
    at += 2 + length;
  }
}

function encodeOption(code: number, value: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  do {
    const piece = value.subarray(at, at + 255);
    pieces.push(Buffer.of(code, piece.length), piece);
    at += 255;
  } while (at < value.length);
  return pieces;
}

function writeRank(code: number): number {
  if (code === DhcpOption.messageType) return -1;
  if (code === DhcpOption.relayAgentInformation) return 1000; // RFC 3046 2.1: last before "end"
  return code;
}

function readAddress(bytes: Buffer, offset: number): string {
  return addressText(bytes.subarray(offset, offset + 4));
}

function readText(field: Buffer): string {
  const end = field.indexOf(0);
  return field.toString('latin1', 0, end === -1 ? field.length : end);
}

function writeText(head: Buffer, offset: number, size: number, text: string): void {
  if (text.length >= size) {
    throw new KindlingError('KND_USAGE', `"${text}" does not fit into ${size - 1} bytes of a DHCP header`);
  }
  head.write(text, offset, 'latin1');
}

function malformed(why: string): KindlingError {
  return new KindlingError('KND_DHCP_MALFORMED', `not a DHCP packet: ${why}`);
}
