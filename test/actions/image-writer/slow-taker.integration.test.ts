import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { HttpConnection } from '../../../actions/image-writer/http/connection.ts';
import { makeCertificate } from '../registry/test-certificate.ts';

const BODY = randomBytes(8 * 2 ** 20);
const MOST_AT_ONCE = 5000;

test.each(['http', 'https'] as const)(
  'a body taken in small bites over %s arrives whole',
  async (protocol) => {
    const { cert, key } = await makeCertificate('127.0.0.1');
    const answer = (_: unknown, response: { end: (body: Buffer) => void }) => response.end(BODY);
    const server = protocol === 'http' ? createServer(answer) : createTlsServer({ cert, key }, answer);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(`${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}/disk.zst`);
    const connection = await HttpConnection.open(url, { caCertificates: cert });
    const hash = createHash('sha256');
    await connection.request({
      url,
      headers: {},
      // As a decompressor that is behind does: takes a part, asks for a pause, goes on a little later.
      onHead: () => (bytes) => {
        const bite = bytes.subarray(0, MOST_AT_ONCE);
        hash.update(bite);
        if (bite.length < bytes.length) setImmediate(() => connection.resume());
        return bite.length;
      },
    });
    connection.destroy();
    server.close();
    expect(hash.digest('hex')).toBe(createHash('sha256').update(BODY).digest('hex'));
  },
);
