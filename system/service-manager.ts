import { requireNativeLibrary } from './native-library.ts';

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0x80000;
/** struct sockaddr_un: the family in 16 bits, then the path. */
const SOCKADDR_PATH = 2;
const LIBC = {
  socket: { arguments: ['int32', 'int32', 'int32'], return: 'int32' },
  sendto: { arguments: ['int32', 'buffer', 'uint64', 'int32', 'buffer', 'uint32'], return: 'int64' },
  close: { arguments: ['int32'], return: 'int32' },
} as const;

/**
 * Tells systemd that a service of Type=notify is up (sd_notify(3): one datagram to the socket that NOTIFY_SOCKET names; Node has
 * no such sockets of its own). Without a service manager it does nothing.
 */
export function notifyReady(environment: NodeJS.ProcessEnv = process.env): void {
  const path = environment['NOTIFY_SOCKET'];
  if (!path) return;
  const { functions } = requireNativeLibrary(null, LIBC, 'services of Type=notify');
  const socket = functions.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const message = Buffer.from('READY=1\n');
  const address = encodeAddress(path);
  functions.sendto(socket, message, BigInt(message.length), 0, address, address.length);
  functions.close(socket);
}

/** A path that begins with "@" is in the abstract namespace, where the first byte is zero. */
function encodeAddress(path: string): Buffer {
  const address = Buffer.alloc(SOCKADDR_PATH + Buffer.byteLength(path));
  address.writeUInt16LE(AF_UNIX);
  address.write(path.replace(/^@/, '\0'), SOCKADDR_PATH);
  return address;
}
