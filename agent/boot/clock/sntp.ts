import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';

/** RFC 4330 (SNTP 4), section 4: field offsets in the 48-byte packet. */
const PACKET_BYTES = 48;
const FLAGS = 0;
const STRATUM = 1;
const ORIGINATE = 24;
const RECEIVE = 32;
const TRANSMIT = 40;
const CLIENT_V4 = 0x23; // leap 0, version 4, mode 3
/** Seconds from 1900, where NTP counts from, to 1970. */
const NTP_EPOCH = 2_208_988_800;
const ERA_SECONDS = 2 ** 32;

/** The time an NTP server tells, in milliseconds since 1970, corrected for half the round trip. */
export async function askTime(server: string, timeoutMs: number, port = 123): Promise<number> {
  const { address, family } = await lookup(server);
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    return await new Promise<number>((resolve, reject) => {
      const request = encodeRequest();
      const sentAt = performance.now();
      deadline.addEventListener('abort', () =>
        reject(new Error(`${server} did not answer within ${timeoutMs} ms`)),
      );
      socket.on('error', reject);
      socket.on('message', (reply) => {
        const time = decodeReply(reply, request);
        if (time === undefined) return; // not an answer to our question; the right one may still come
        resolve(time + (performance.now() - sentAt) / 2);
      });
      socket.send(request, port, address);
    });
  } finally {
    socket.close();
  }
}

/** A request carries a random stamp, which the answer must repeat: a forged one would have to guess it. */
export function encodeRequest(): Buffer {
  const packet = Buffer.alloc(PACKET_BYTES);
  packet.writeUInt8(CLIENT_V4, FLAGS);
  crypto.getRandomValues(packet.subarray(TRANSMIT, PACKET_BYTES));
  return packet;
}

/** undefined for anything that is not a good answer to that request (section 5: mode, leap, stratum, originate). */
export function decodeReply(reply: Buffer, request: Buffer): number | undefined {
  if (reply.length < PACKET_BYTES) return undefined;
  const flags = reply.readUInt8(FLAGS);
  const isServer = (flags & 0x7) === 4;
  const isUnsynchronized = flags >> 6 === 3;
  const stratum = reply.readUInt8(STRATUM);
  const repeats = reply.subarray(ORIGINATE, RECEIVE).equals(request.subarray(TRANSMIT, PACKET_BYTES));
  if (!isServer || isUnsynchronized || stratum === 0 || stratum > 15 || !repeats) return undefined;
  const seconds = reply.readUInt32BE(TRANSMIT);
  const fraction = reply.readUInt32BE(TRANSMIT + 4) / ERA_SECONDS;
  if (seconds === 0) return undefined;
  // Numbers that would be before 1970 belong to the era that starts in 2036 (section 3).
  const era = seconds < NTP_EPOCH ? ERA_SECONDS : 0;
  return Math.round((seconds + era - NTP_EPOCH + fraction) * 1000);
}
