import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sendForgedDatagram } from '../../lab/pxe/forged-datagram.ts';
import { fetchByTftp } from '../../lab/pxe/tftp-client.ts';
import { startTftpServer, type TftpServer } from '../../netboot/tftp/tftp-server.ts';
import { TftpTransfer } from '../../netboot/tftp/tftp-transfer.ts';

const content = Buffer.alloc(100_000, 7);
const readRequest = (...options: string[]) =>
  Buffer.from(['\0\x01ipxe.efi', 'octet', ...options, ''].join('\0'), 'latin1');
const faults: unknown[] = [];
const noteFault = (thrown: unknown) => faults.push(thrown);
let server: TftpServer;
let client: Socket;

beforeAll(async () => {
  process.on('unhandledRejection', noteFault);
  server = await startTftpServer({
    address: '127.0.0.1',
    port: 0,
    files: { read: async (name) => (name === 'ipxe.efi' ? content : undefined) },
    onFailure: noteFault,
  });
  client = createSocket('udp4').bind(0, '127.0.0.1');
  await once(client, 'listening');
});

afterAll(async () => {
  client.close();
  await server[Symbol.asyncDispose]();
  process.off('unhandledRejection', noteFault);
});

it('a read request from source port 0 ends nothing', async () => {
  await sendForgedDatagram(readRequest(), { sourcePort: 0, port: server.port });
  await sendForgedDatagram(Buffer.from('no TFTP'), { sourcePort: 0, port: server.port });
  const { content: got } = await fetchByTftp('ipxe.efi', { port: server.port });
  expect(got.equals(content)).toBe(true);
  expect(faults).toEqual([]);
});

it('1,500 requests of one address hold no more than its share, and others are served meanwhile', async () => {
  const flood = Array.from({ length: 1500 }, () => createSocket('udp4'));
  await Promise.all(
    flood.map(
      (socket) =>
        new Promise((sent) =>
          socket.send(readRequest('timeout', '255'), server.port, '127.0.0.1', () => sent(undefined)),
        ),
    ),
  );
  await expect.poll(() => server.activeTransfers()).toBeGreaterThan(100);
  expect(server.activeTransfers()).toBeLessThanOrEqual(256);
  for (const socket of flood) socket.close();
  const other = createSocket('udp4').bind(0, '127.0.0.2');
  await once(other, 'listening');
  other.send(readRequest(), server.port, '127.0.0.1');
  const [answer] = (await once(other, 'message')) as [Buffer];
  expect(answer.readUInt16BE(0), 'DATA').toBe(3);
  other.close();
});

it('a client that never answers is sent the first block twice at most', () => {
  const transfer = new TftpTransfer(content, new Map(), 1468);
  const sent = [transfer.start(), ...Array.from({ length: 6 }, () => transfer.timeOut())];
  const upToEnd = sent.slice(0, sent.findIndex(({ outcome }) => outcome === 'timed-out') + 1);
  expect(upToEnd.flatMap(({ send }) => send)).toHaveLength(2);
});

it.each([
  ['10', 10_000],
  ['255', 1000],
])('a time-out of %s s that a client asks for is %i ms here', (asked, milliseconds) => {
  expect(new TftpTransfer(content, new Map([['timeout', asked]]), 1468).timeoutMs).toBe(milliseconds);
});
