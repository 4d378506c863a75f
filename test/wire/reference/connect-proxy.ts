import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** An HTTP proxy that does CONNECT, or refuses to. */
export interface ConnectProxy {
  url: string;
  /** What CONNECT is answered with; 200 lets through. */
  status: number;
  tunnels: { target: string; authorization: string | undefined }[];
  close(): Promise<void>;
}

export async function startConnectProxy(): Promise<ConnectProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(405).end());
  const proxy: ConnectProxy = {
    url: '',
    status: 200,
    tunnels: [],
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  server.on('connect', (request, socket: Socket, head) => {
    sockets.add(socket);
    socket.on('error', () => {});
    const target = request.url ?? '';
    proxy.tunnels.push({ target, authorization: request.headers['proxy-authorization'] });
    if (proxy.status !== 200) {
      socket.end(`HTTP/1.1 ${proxy.status} No\r\n\r\n`);
      return;
    }
    // Every name leads to this machine, so that tests can use names no DNS server knows.
    const upstream = connect(Number(target.split(':')[1]), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    sockets.add(upstream);
    upstream.on('error', () => socket.destroy());
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.2', resolve);
  await promise;
  proxy.url = `http://127.0.0.2:${(server.address() as AddressInfo).port}`;
  return proxy;
}
