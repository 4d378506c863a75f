import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface UdpDatagram {
  sourcePort: number;
  destinationPort: number;
  payload: Buffer;
}

const FILE_HEADER_BYTES = 24;
const RECORD_HEADER_BYTES = 16;
const ETHERNET_HEADER_BYTES = 14;
const ETHERTYPE_IPV4 = 0x0800;
const PROTOCOL_UDP = 17;

/** The UDP datagrams of a capture (classic little-endian pcap, Ethernet). */
export function readUdpDatagrams(fixture: string): UdpDatagram[] {
  const bytes = readFileSync(join(import.meta.dirname, 'fixtures', fixture));
  const datagrams: UdpDatagram[] = [];
  for (let at = FILE_HEADER_BYTES; at + RECORD_HEADER_BYTES <= bytes.length; ) {
    const length = bytes.readUInt32LE(at + 8);
    const frame = bytes.subarray(at + RECORD_HEADER_BYTES, at + RECORD_HEADER_BYTES + length);
    at += RECORD_HEADER_BYTES + length;
    if (frame.readUInt16BE(12) !== ETHERTYPE_IPV4) continue;
    const ip = frame.subarray(ETHERNET_HEADER_BYTES);
    if (ip[9] !== PROTOCOL_UDP) continue;
    const udp = ip.subarray(((ip[0] ?? 0) & 0x0f) * 4);
    datagrams.push({
      sourcePort: udp.readUInt16BE(0),
      destinationPort: udp.readUInt16BE(2),
      payload: udp.subarray(8, udp.readUInt16BE(4)),
    });
  }
  return datagrams;
}
