import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { decodeTftpPacket, encodeTftpPacket } from '../../protocol/tftp/packet.ts';

export interface FetchOptions {
  /** Of the server; 127.0.0.1 unless given. */
  address?: string;
  port: number;
  /** The client's own address. */
  from?: string;
  options?: Record<string, string>;
  /** Drop the n-th data packet that arrives (counting from 0): a lossy link. */
  drop?: (index: number) => boolean;
  /** Stop acknowledging after this many blocks, as a machine that lost power. */
  dieAfter?: number;
  /** How long nothing may come before it says again what it said last. Default 1 s. */
  silenceMs?: number;
}

/** After this many silences the server has given the transfer up: the client begins again, as firmware does. */
const SILENCES = 5;

export interface Fetched {
  content: Buffer;
  accepted: Map<string, string>;
  packets: number;
}

/** A TFTP client as firmware has one: options, windows, re-acknowledges what it has when a packet is missing. */
export async function fetchByTftp(
  file: string,
  { address = '127.0.0.1', from, port, options = {}, drop, dieAfter, silenceMs = 1000 }: FetchOptions,
): Promise<Fetched> {
  const socket = createSocket('udp4');
  socket.bind(0, from);
  await once(socket, 'listening');
  const { promise, resolve, reject } = Promise.withResolvers<Fetched>();
  let blockBytes = 512;
  let windowBlocks = 1;
  let accepted = new Map<string, string>();
  let expected = 1;
  let inWindow = 0;
  let packets = 0;
  /** The server's port for this transfer, once it has answered; packets from others are not ours (RFC 1350 4). */
  let server: number | undefined;
  let silences = 0;
  let blocks: Buffer[] = [];
  const silence = setInterval(() => {
    silences += 1;
    if (server !== undefined && silences > SILENCES) beginAgain();
    if (server === undefined) ask();
    else acknowledge();
  }, silenceMs);
  const beginAgain = () => {
    server = undefined;
    silences = 0;
    expected = 1;
    inWindow = 0;
    blocks = [];
  };
  const acknowledge = () =>
    socket.send(encodeTftpPacket({ type: 'ack', block: (expected - 1) & 0xffff }), server ?? port, address);
  socket.on('message', (bytes, sender) => {
    server ??= sender.port;
    if (sender.port !== server) return;
    silence.refresh();
    silences = 0;
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
  const ask = () => socket.send(encodeTftpPacket(request), port, address);
  ask();
  if (dieAfter !== undefined)
    socket.on('close', () => resolve({ content: Buffer.concat(blocks), accepted, packets }));
  try {
    return await promise;
  } finally {
    clearInterval(silence);
    if (dieAfter === undefined) socket.close();
  }
}
