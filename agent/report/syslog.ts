import { createSocket, type Socket } from 'node:dgram';
import { hostname } from 'node:os';
import type { RingEntry } from './ring.ts';

// RFC 5424 6.2.1: facility 1 (user-level) × 8 + severity
const FACILITY = 1 << 3;
const SEVERITIES: Record<string, number> = { fatal: 2, error: 3, warn: 4, info: 6, debug: 7 };
const MAX_BYTES = 1400; // one Ethernet frame: a fragmented datagram is a lost datagram

/** One log line as an RFC 5424 message. */
export function toSyslogMessage({ sequence, line }: RingEntry, host = hostname()): Buffer {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const priority = FACILITY + (SEVERITIES[String(level)] ?? 5);
  const action = typeof fields['action'] === 'string' ? fields['action'] : undefined;
  const messageId = (action ?? '-').replace(/[^\x21-\x7e]/g, '_').slice(0, 32);
  const rest = Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : '';
  const structured = `[meta sequenceId="${sequence % 2_147_483_647 || 1}"]`;
  const text = `<${priority}>1 ${time} ${host || '-'} kindling-agent ${process.pid} ${messageId} ${structured} ${msg ?? ''}${rest}`;
  return Buffer.from(text.replaceAll('\n', ' ')).subarray(0, MAX_BYTES);
}

/** Sends log lines to a syslog server over UDP. */
export class SyslogSender {
  readonly #socket: Socket;
  readonly #host: string;
  readonly #port: number;

  constructor(host: string, port: number) {
    this.#socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    this.#socket.unref();
    this.#socket.on('error', () => {}); // a log that cannot be sent must not end the agent
    this.#host = host;
    this.#port = port;
  }

  send(entries: readonly RingEntry[]): Promise<void> {
    const sends = entries.map((entry) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.#socket.send(toSyslogMessage(entry), this.#port, this.#host, (error) =>
        error ? reject(error) : resolve(),
      );
      return promise;
    });
    return Promise.all(sends).then(() => {});
  }

  close(): void {
    this.#socket.close();
  }
}
