import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { Download } from '../../../actions/image-writer/download.ts';
import { get } from '../../../actions/image-writer/http/get.ts';
import { makeCertificate } from '../registry/test-certificate.ts';

const listen = async (server: { listen: (port: number, host: string, done: () => void) => unknown }) =>
  new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

test('a kept connection that the server closes as it is asked is replaced by another', async () => {
  const asked: string[] = [];
  const server = createServer((socket) => {
    let requests = 0;
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      const path = bytes.toString('latin1').split(' ')[1] ?? '';
      asked.push(path);
      requests += 1;
      if (requests > 1) socket.destroy();
      else if (path === '/old')
        socket.write('HTTP/1.1 302 Found\r\nlocation: /new\r\ncontent-length: 0\r\n\r\n');
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nimage');
    });
  });
  await listen(server);
  const { port } = server.address() as AddressInfo;
  let body = '';
  const connection = await get(`http://127.0.0.1:${port}/old`, {
    transport: {},
    onHead: () => (bytes) => {
      body += bytes.toString('latin1');
      return bytes.length;
    },
  });
  connection.destroy();
  server.close();
  expect(body).toBe('image');
  expect(asked).toEqual(['/old', '/new', '/new']);
});

test('an attempt that is given up while its connection is being made never asks for anything', async () => {
  const asked = Promise.withResolvers<string>();
  const server = createTlsServer(await makeCertificate('127.0.0.1'), (request, response) => {
    asked.resolve(`asked for ${request.url}`);
    response.end('bytes that would come twice');
  });
  await listen(server);
  const held = Promise.withResolvers<Socket>();
  const slow = createServer((socket) => held.resolve(socket.on('error', () => {})));
  await listen(slow);
  const download = new Download({
    sources: [`https://127.0.0.1:${(slow.address() as AddressInfo).port}/disk`],
    transport: { stallTimeoutMs: 200, isUnverified: true },
    retry: { isEnabled: false },
    hashes: [],
    log: () => {},
    onBytes: (bytes) => bytes.length,
  });
  await expect(download.run()).rejects.toMatchObject({ code: 'KND_IMAGE_STALLED' });
  const client = await held.promise;
  const closed = once(client, 'close').then(() => 'closed');
  const toServer = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  client.pipe(toServer).pipe(client);
  expect(await Promise.race([closed, asked.promise])).toBe('closed');
  client.destroy();
  toServer.destroy();
  slow.close();
  server.close();
});
