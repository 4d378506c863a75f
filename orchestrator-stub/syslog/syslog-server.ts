import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { KindlingError } from '../../protocol/error.ts';
import { parseSyslog, type SyslogMessage } from '../../protocol/syslog.ts';
import type { EventBus } from '../events/bus.ts';
import type { HostTable } from '../nodes/host-table.ts';
import { KEPT_LINES, type LogLine, type LogTable } from '../store/log-table.ts';

export interface SyslogParts {
  hosts: HostTable;
  logs: LogTable;
  bus: EventBus;
  now: () => Date;
  onFailure: (thrown: unknown) => void;
}

const LEVELS = ['fatal', 'fatal', 'fatal', 'error', 'warn', 'info', 'info', 'debug'];
const MAX_MESSAGE_CHARACTERS = 8192;
/** Who sends from an address is looked up again after this long. */
const SENDER_KNOWN_MS = 10_000;

/**
 * Syslog over UDP (RFC 5424 and 3164), for firmware, iPXE and installed systems that speak nothing better. A line goes to the
 * log of the node whose address it came from, else of the one whose id, UUID or serial it gives as host; lines of strangers are
 * dropped.
 */
export async function startSyslogServer(
  parts: SyslogParts,
  address: { host: string; port: number },
): Promise<AsyncDisposable & { port: number }> {
  const socket = createSocket({ type: address.host.includes(':') ? 'udp6' : 'udp4', ipv6Only: false });
  const senders = new Map<string, { hostId: string | undefined; at: number }>();
  let received = 0;
  socket.on('message', (datagram, { address: from }) => {
    try {
      take(datagram, from);
    } catch (thrown) {
      parts.onFailure(thrown); // a state folder that takes no writes: the line is lost, as with UDP any may be
    }
  });
  const take = (datagram: Buffer, from: string) => {
    const now = parts.now();
    const message = parseSyslog(datagram, now);
    const hostId = message && (senderOf(from.replace(/^::ffff:/, '')) ?? namedHost(message));
    if (!message || hostId === undefined) return;
    received += 1;
    const fresh = parts.logs.append(
      hostId,
      [toLine(message, now, received)],
      KEPT_LINES[parts.hosts.byId(hostId)?.isRegistered ? 'registered' : 'unregistered'],
    );
    if (fresh.length > 0) parts.bus.publish({ type: 'log', nodeId: hostId, lines: fresh });
  };
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

  function senderOf(from: string): string | undefined {
    const known = senders.get(from);
    const at = parts.now().getTime();
    if (known && at - known.at < SENDER_KNOWN_MS) return known.hostId;
    if (senders.size > 10_000) senders.clear();
    const hostId = parts.hosts.byReportedIp(from)?.id;
    senders.set(from, { hostId, at });
    return hostId;
  }

  function namedHost({ host }: SyslogMessage): string | undefined {
    if (host === undefined) return undefined;
    const { hosts } = parts;
    return (hosts.byId(host) ?? hosts.byUuid(host.toLowerCase()) ?? hosts.bySerial(host))?.id;
  }
}

function toLine({ severity, time, app, message }: SyslogMessage, now: Date, received: number): LogLine {
  return {
    stream: app ? `syslog ${app}` : 'syslog',
    // Syslog numbers nothing: the moment of arrival orders the lines, the count tells apart those of one millisecond.
    sequence: now.getTime() * 1000 + (received % 1000),
    time: (time ?? now).toISOString(),
    level: LEVELS[severity] ?? 'info',
    message: message.slice(0, MAX_MESSAGE_CHARACTERS),
  };
}
