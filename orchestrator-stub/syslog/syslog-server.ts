import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { plainAddress } from '../../net/address-group.ts';
import type { DatagramEntrance } from '../../net/datagram-entrance.ts';
import { RateLimit } from '../../net/rate-limit.ts';
import { KindlingError } from '../../protocol/error.ts';
import { parseSyslog, type SyslogMessage } from '../../protocol/syslog.ts';
import type { EventBus } from '../events/bus.ts';
import type { HostTable } from '../nodes/host-table.ts';
import { KEPT_LOGS, type LogLine, type LogTable } from '../store/log-table.ts';

export interface SyslogParts {
  hosts: HostTable;
  logs: LogTable;
  bus: EventBus;
  now: () => Date;
  /** A fault of the server itself, which goes on. */
  onFailure: (thrown: unknown) => void;
}

const LEVELS = ['fatal', 'fatal', 'fatal', 'error', 'warn', 'info', 'info', 'debug'];
const MAX_MESSAGE_CHARACTERS = 8192;
const MAX_APP_CHARACTERS = 48;
/** A clock ahead of ours by more than this is wrong: the line gets the time of its arrival. */
const MAX_AHEAD_MS = 5 * 60_000;
/** Datagrams of one address, and of all. */
const DATAGRAMS = { burst: 2000, perSecond: 200, inAll: { burst: 20_000, perSecond: 5000 } } as const;

export const SYSLOG_ENTRANCE: DatagramEntrance = {
  protocol: 'syslog',
  changes: 'adds lines marked "syslog" to the log of the node that last knocked from the sender’s address',
  limits: [
    `${MAX_MESSAGE_CHARACTERS.toLocaleString('en')} characters a line`,
    `${DATAGRAMS.perSecond} datagrams a second per address, ${DATAGRAMS.inAll.perSecond.toLocaleString('en')} in all`,
    'pruned by arrival',
  ].join('; '),
};

/**
 * Syslog over UDP (RFC 5424 and 3164), for firmware, iPXE and installed systems that speak nothing better. A line goes to the
 * log of the node that last knocked with the address it came from, and says "syslog" there: nothing proves who sent it. The host
 * name in a line is the sender's word and chooses no node; lines from other addresses are dropped.
 */
export async function startSyslogServer(
  parts: SyslogParts,
  address: { host: string; port: number },
): Promise<AsyncDisposable & { port: number }> {
  const socket = createSocket({ type: address.host.includes(':') ? 'udp6' : 'udp4', ipv6Only: false });
  const limit = new RateLimit(DATAGRAMS);
  let received = 0;
  socket.on('message', (datagram, { address: from }) => {
    if (limit.allows(from)) take(datagram, plainAddress(from)).catch(parts.onFailure);
  });
  socket.bind(address.port, address.host);
  await once(socket, 'listening').catch((cause: unknown) => {
    throw new KindlingError(
      'KND_STUB_LISTEN',
      `cannot listen for syslog on ${address.host} port ${address.port}`,
      { cause },
    );
  });
  socket.on('error', () => {}); // a datagram that could not be received is a lost line, as UDP has them
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  return {
    port: socket.address().port,
    [Symbol.asyncDispose]: () => {
      socket.close(() => resolve());
      return closed;
    },
  };

  async function take(datagram: Buffer, from: string): Promise<void> {
    const now = parts.now();
    const message = parseSyslog(datagram, now);
    const host = message && (await parts.hosts.byReportedIp(from));
    if (!message || !host) return;
    received += 1;
    const budget = KEPT_LOGS[host.isRegistered ? 'registered' : 'unregistered'];
    const fresh = await parts.logs.append(host.id, [toLine(message, now, received)], budget);
    if (fresh.length > 0) parts.bus.publish({ type: 'log', nodeId: host.id, lines: fresh });
  }
}

function toLine({ severity, time, app, message }: SyslogMessage, now: Date, received: number): LogLine {
  return {
    stream: app ? `syslog ${app.slice(0, MAX_APP_CHARACTERS)}` : 'syslog',
    // Syslog numbers nothing: the moment of arrival orders the lines, the count tells apart those of one millisecond.
    sequence: now.getTime() * 1000 + (received % 1000),
    time: (time && time.getTime() <= now.getTime() + MAX_AHEAD_MS ? time : now).toISOString(),
    level: LEVELS[severity] ?? 'info',
    message: message.slice(0, MAX_MESSAGE_CHARACTERS),
  };
}
