const AF_INET = 2;
const SOCK_RAW = 3;
const IPPROTO_UDP = 17;

/** Sends one UDP datagram with any source port, as only an attacker does: over a raw socket. Needs root. */
export async function sendForgedDatagram(
  payload: Buffer,
  { sourcePort, port }: { sourcePort: number; port: number },
): Promise<void> {
  const ffi = await import('node:ffi');
  const { functions: libc } = ffi.dlopen(null, {
    socket: { arguments: ['int32', 'int32', 'int32'], return: 'int32' },
    sendto: { arguments: ['int32', 'buffer', 'uint64', 'int32', 'buffer', 'uint32'], return: 'int64' },
    close: { arguments: ['int32'], return: 'int32' },
  });
  // RFC 768: source port, destination port, length, checksum (0: none).
  const header = Buffer.alloc(8);
  header.writeUInt16BE(sourcePort, 0);
  header.writeUInt16BE(port, 2);
  header.writeUInt16BE(header.length + payload.length, 4);
  const datagram = Buffer.concat([header, payload]);
  const address = Buffer.alloc(16);
  address.writeUInt16LE(AF_INET, 0);
  address.set([127, 0, 0, 1], 4);
  const fd = libc.socket(AF_INET, SOCK_RAW, IPPROTO_UDP);
  const sent = libc.sendto(fd, datagram, BigInt(datagram.length), 0, address, address.length);
  libc.close(fd);
  if (Number(sent) !== datagram.length) throw new Error('the datagram was not sent; this needs root');
}
