import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { fetchByTftp } from '../../../lab/pxe/tftp-client.ts';
import { encodeTftpPacket } from '../../../protocol/tftp/packet.ts';

test('a client whose transfer the server has given up begins again', async () => {
  const sockets: Socket[] = [];
  const open = async () => {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    sockets.push(socket);
    return socket;
  };
  const server = await open();
  let requests = 0;
  server.on('message', async (_request: Buffer, { port, address }: RemoteInfo) => {
    requests += 1;
    const transfer = await open();
    // the first transfer says that it is ready, and never another word
    const packet =
      requests === 1
        ? encodeTftpPacket({ type: 'option-ack', options: new Map([['blksize', '512']]) })
        : encodeTftpPacket({ type: 'data', block: 1, data: Buffer.from('all of it') });
    transfer.send(packet, port, address);
  });
  try {
    const { content } = await fetchByTftp('ipxe.efi', { port: server.address().port, silenceMs: 20 });
    expect(content.toString()).toBe('all of it');
    expect(requests).toBeGreaterThan(1);
  } finally {
    for (const socket of sockets) socket.close();
  }
});
