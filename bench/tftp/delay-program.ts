/**
 * The middle of a delayed link: `node delay-program.ts MS HOST:PORT HOST:PORT`. What comes from the first goes to the second MS
 * later, and the other way round; port 5001 is for the first, 5002 for the second.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

const [delayText = '1', ...ends] = process.argv.slice(2);
const delayMs = Number(delayText);
const queue: { due: number; send: () => void }[] = [];
let isTurning = false;

/** Timers are only exact to a millisecond, which is the very delay: while packets are under way the loop turns without rest. */
function turn(): void {
  const now = performance.now();
  while (queue[0] && queue[0].due <= now) queue.shift()?.send();
  isTurning = queue.length > 0;
  if (isTurning) setImmediate(turn);
}

function carry(from: Socket, to: Socket, end: string): void {
  const [host = '', port = ''] = end.split(':');
  from.on('message', (bytes) => {
    queue.push({ due: performance.now() + delayMs, send: () => to.send(bytes, Number(port), host) });
    if (!isTurning) turn();
  });
}

async function open(port: number): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 2 ** 20, sendBufferSize: 4 * 2 ** 20 });
  socket.bind(port);
  await once(socket, 'listening');
  return socket;
}

const [first, second] = [await open(5001), await open(5002)];
carry(first, second, ends[1] ?? '');
carry(second, first, ends[0] ?? '');
console.log('ready');
