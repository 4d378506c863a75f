import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { askTime, decodeReply, encodeRequest } from '../../../../agent/boot/clock/sntp.ts';
import fc from '../../../seeds/fast-check.ts';

const NTP_EPOCH = 2_208_988_800;

/** A server's answer, by RFC 4330, written field by field. */
function answer(
  request: Buffer,
  seconds: number,
  changes: { flags?: number; stratum?: number } = {},
): Buffer {
  const reply = Buffer.alloc(48);
  reply.writeUInt8(changes.flags ?? 0x24, 0); // leap 0, version 4, mode 4
  reply.writeUInt8(changes.stratum ?? 2, 1);
  request.copy(reply, 24, 40, 48);
  reply.writeUInt32BE(seconds, 40);
  reply.writeUInt32BE(0x80000000, 44);
  return reply;
}

test('the transmit time of the server, with its fraction', () => {
  const request = encodeRequest();
  expect(decodeReply(answer(request, NTP_EPOCH + 1_800_000_000), request)).toBe(1_800_000_000_500);
});

test('numbers that wrapped in 2036 are understood', () => {
  const request = encodeRequest();
  const year = new Date(decodeReply(answer(request, 100_000_000), request) ?? 0).getUTCFullYear();
  expect(year).toBe(2039);
});

test.each([
  ['not synchronized', { flags: 0xe4 }],
  ['not from a server', { flags: 0x23 }],
  ['a kiss of death', { stratum: 0 }],
  ['too far from a clock', { stratum: 16 }],
])('%s: no time', (_name, changes) => {
  const request = encodeRequest();
  expect(decodeReply(answer(request, NTP_EPOCH + 1_800_000_000, changes), request)).toBeUndefined();
});

test('an answer that does not repeat our random stamp is not ours', () => {
  expect(decodeReply(answer(encodeRequest(), NTP_EPOCH + 1_800_000_000), encodeRequest())).toBeUndefined();
});

test('any bytes are read without an error', () => {
  const request = encodeRequest();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => void decodeReply(Buffer.from(bytes), request)),
  );
});

test('over a socket: garbage before the right answer does no harm, silence is an error', async () => {
  const server = createSocket('udp4');
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  server.on('message', (request, from) => {
    server.send('garbage', from.port, from.address);
    server.send(answer(request, NTP_EPOCH + 1_800_000_000), from.port, from.address);
  });
  const time = await askTime('127.0.0.1', 2000, server.address().port);
  expect(Math.abs(time - 1_800_000_000_500)).toBeLessThan(1000);
  server.removeAllListeners('message');
  await expect(askTime('127.0.0.1', 50, server.address().port)).rejects.toThrow('did not answer');
  server.close();
});
