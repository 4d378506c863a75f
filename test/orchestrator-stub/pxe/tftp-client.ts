import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { decodeTftpPacket, encodeTftpPacket } from '../../../protocol/tftp/packet.ts';

export interface FetchOptions {
  port: number;
  options?: Record<string, string>;
  /** Drop the n-th data packet that arrives (counting from 0): a lossy link. */
  drop?: (index: number) => boolean;
  /** Stop acknowledging after so many blocks, as a machine that lost power. */
  dieAfter?: number;
}

export interface Fetched {
  content: Buffer;
  accepted: Map<string, string>;
  packets: number;
}

/** A TFTP client as firmware has one: options, windows, re-acknowledges what it has when a packet is missing. */
export async function fetchByTftp(
  file: string,
  { port, options = {}, drop, dieAfter }: FetchOptions,
): Promise<Fetched> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { promise, resolve, reject } = Promise.withResolvers<Fetched>();
  let blockBytes = 512;
  let windowBlocks = 1;
  let accepted = new Map<string, string>();
  let expected = 1;
  let inWindow = 0;
  let packets = 0;
  let server = port;
  const blocks: Buffer[] = [];
  const acknowledge = () =>
    socket.send(encodeTftpPacket({ type: 'ack', block: (expected - 1) & 0xffff }), server, '127.0.0.1');
  socket.on('message', (bytes, from) => {
    server = from.port;
    const packet = decodeTftpPacket(bytes);
    if (packet.type === 'error') return reject(new Error(`TFTP error ${packet.code}: ${packet.message}`));
    if (packet.type === 'option-ack') {
      accepted = packet.options;
      blockBytes = Number(accepted.get('blksize') ?? blockBytes);
      windowBlocks = Number(accepted.get('windowsize') ?? windowBlocks);
      return acknowledge();
    }
    if (packet.type !== 'data') return;
    packets += 1;
    if (drop?.(packets - 1)) return;
    if (packet.block !== (expected & 0xffff)) {
      inWindow = 0;
      return acknowledge();
    }
    blocks.push(Buffer.from(packet.data));
    expected += 1;
    inWindow += 1;
    const isLast = packet.data.length < blockBytes;
    if (dieAfter !== undefined && blocks.length >= dieAfter) return socket.close();
    if (isLast || inWindow === windowBlocks) {
      inWindow = 0;
      acknowledge();
    }
    if (isLast) resolve({ content: Buffer.concat(blocks), accepted, packets });
  });
  const request = { type: 'read' as const, file, mode: 'octet', options: new Map(Object.entries(options)) };
  socket.send(encodeTftpPacket(request), port, '127.0.0.1');
  if (dieAfter !== undefined)
    socket.on('close', () => resolve({ content: Buffer.concat(blocks), accepted, packets }));
  try {
    return await promise;
  } finally {
    if (dieAfter === undefined) socket.close();
  }
}
