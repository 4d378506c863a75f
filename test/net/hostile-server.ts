import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A server that answers every request with what it is told to, byte for byte, and does not know HTTP. */
export async function hostileServer(answer: (socket: Socket, request: string) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}); // the client hangs up on it, rightly
    socket.on('data', (bytes) => answer(socket, bytes.toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return sockets.size;
    },
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
