import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { sendForgedDatagram } from '../../lab/pxe/forged-datagram.ts';
import { nodeOf } from '../fleet/messages.ts';
import type { AttackOrder } from './messages.ts';

/** One stranger's address, and what it needs to be a nuisance. */
export interface Attacker {
  address: string;
  index: number;
  order: AttackOrder;
  agent: Agent;
  datagrams: Socket;
  /** Connections that it keeps open and does nothing with. */
  held: TLSSocket[];
}

export async function makeAttacker(address: string, index: number, order: AttackOrder): Promise<Attacker> {
  const datagrams = createSocket('udp4').bind(0, address);
  datagrams.on('error', () => {});
  await once(datagrams, 'listening');
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 4,
    localAddress: address,
    rejectUnauthorized: false,
  });
  return { address, index, order, agent, datagrams, held: [] };
}

const EMPTY_RECORDS = gzipSync(
  JSON.stringify({
    resourceLogs: [{ scopeLogs: [{ logRecords: Array.from({ length: 100_000 }, () => ({})) }] }],
  }),
);
const LARGE_FIELDS = gzipSync(
  JSON.stringify({
    resourceLogs: [
      {
        scopeLogs: [
          {
            logRecords: Array.from({ length: 60 }, (_, n) => ({
              body: { stringValue: 'x'.repeat(60_000) },
              attributes: [{ key: 'kindling.sequence', value: { intValue: String(n * 1000 + 500) } }],
            })),
          },
        ],
      },
    ],
  }),
);
const HELD_PER_ADDRESS = 20;

/** Everything of S-08 to S-12 and S-20, each to be called again and again by every address. */
export const ATTACKS: Record<string, (attacker: Attacker) => Promise<void>> = {
  'S-08 TFTP read, never answered': async ({ datagrams, order }) => {
    const read = '\0\x01ipxe.efi\0octet\0timeout\x00255\0blksize\x001468\0windowsize\x0064\0';
    datagrams.send(Buffer.from(read, 'latin1'), order.tftpPort, '127.0.0.1');
  },
  'S-08 source port 0': ({ order }) =>
    sendForgedDatagram(Buffer.from('\0\x01ipxe.efi\0octet\0', 'latin1'), {
      sourcePort: 0,
      port: order.tftpPort,
    }),
  'S-09 syslog in a node’s name': async ({ datagrams, order, index }) => {
    const line = Buffer.from(`<34>1 9999-01-01T00:00:00Z ${nodeOf(index).uuid} x - - - ${'y'.repeat(1000)}`);
    for (let times = 0; times < 20; times += 1) datagrams.send(line, order.syslogPort, '127.0.0.1');
  },
  'S-10 logs of 4 MB in 4 kB': (attacker) =>
    post(attacker, '/v1/logs', LARGE_FIELDS, {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    }),
  'S-11 100,000 records in 500 bytes': (attacker) =>
    post(attacker, '/v1/logs', EMPTY_RECORDS, {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    }),
  'S-11 a password': (attacker) =>
    post(
      attacker,
      '/realms/master/protocol/openid-connect/token',
      Buffer.from('grant_type=password&client_id=x&username=operator&password=guess'),
      { 'content-type': 'application/x-www-form-urlencoded' },
    ),
  'S-12 half a request': (attacker) => hold(attacker, 'POST /v1/logs HTTP/1.1\r\nhost: x\r\nx-slow: '),
  'S-12 silence': (attacker) => hold(attacker, ''),
  'S-12 a reader that does not read': (attacker) =>
    hold(attacker, 'GET /tink-stack/initramfs-x86_64 HTTP/1.1\r\nhost: localhost\r\n\r\n'),
  'S-20 an invented machine of 250 kB': (attacker) => {
    const { address, index } = attacker;
    const serial = `EVIL${index}x${Math.random().toString(36).slice(2, 10).toUpperCase()}`;
    const identity = { serial, macs: [], nodeId: `${address}-${serial}` };
    return post(
      attacker,
      '/api/v1/discovery',
      Buffer.from(JSON.stringify({ identity, junk: 'z'.repeat(250_000) })),
      {
        'content-type': 'application/json',
      },
    );
  },
};

/** Until it is answered, whatever the answer. */
function post(
  { agent, order }: Attacker,
  path: string,
  body: Buffer,
  headers: Record<string, string>,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const sent = request(
    `${order.url}${path}`,
    {
      agent,
      method: 'POST',
      headers: { ...headers, 'content-length': String(body.length) },
      timeout: 30_000,
    },
    (response) => response.resume().on('close', resolve),
  );
  sent.on('timeout', () => sent.destroy());
  sent.on('error', () => resolve());
  sent.end(body);
  return promise;
}

/** A connection that says this and no more, beside the others that are still open. */
async function hold(attacker: Attacker, words: string): Promise<void> {
  const { held, address, order } = attacker;
  if (held.length >= HELD_PER_ADDRESS) return;
  const { hostname, port } = new URL(order.url);
  const socket = connect({
    socket: connectTcp({ host: hostname, port: Number(port), localAddress: address }),
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  held.push(socket);
  socket.on('error', () => {});
  socket.on('close', () => held.splice(held.indexOf(socket), 1));
  await Promise.race([once(socket, 'secureConnect'), once(socket, 'close')]).catch(() => {});
  if (words) socket.write(words);
  socket.pause();
}
