import { createSocket, type Socket } from 'node:dgram';
import { getSystemErrorName } from 'node:util';
import { KindlingError } from '../../protocol/error.ts';
import { requireNativeLibrary } from '../../system/native-library.ts';

/**
 * A UDP socket bound to one network device. Node's own sockets cannot do this, and DHCP needs it twice over:
 * to hear only the broadcasts of that network, and to send to 255.255.255.255 without a default route
 * (a socket bound to 0.0.0.0 gets ENETUNREACH; one bound to an address hears no broadcast).
 */
export async function openDeviceSocket(device: string, port: number): Promise<Socket> {
  const fd = boundDescriptor(device, port);
  const socket = createSocket('udp4');
  socket.bind({ fd }); // it is bound already, so this listens at once
  return socket;
}

const AF_INET = 2;
const SOCK_DGRAM = 2;
const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const SO_BROADCAST = 6;
const SO_BINDTODEVICE = 25;

const FUNCTIONS = {
  socket: { arguments: ['int32', 'int32', 'int32'], return: 'int32' },
  setsockopt: { arguments: ['int32', 'int32', 'int32', 'buffer', 'uint32'], return: 'int32' },
  bind: { arguments: ['int32', 'buffer', 'uint32'], return: 'int32' },
  close: { arguments: ['int32'], return: 'int32' },
  __errno_location: { arguments: [], return: 'pointer' },
} as const;

function boundDescriptor(device: string, port: number): number {
  const { ffi, functions: libc } = requireNativeLibrary(null, FUNCTIONS, 'sockets bound to a network device');
  const fd = libc.socket(AF_INET, SOCK_DGRAM, 0);
  const must = (step: string, result: number) => {
    if (result >= 0) return;
    const name = getSystemErrorName(-ffi.getInt32(libc.__errno_location()));
    if (fd >= 0) libc.close(fd);
    throw socketError(name, step, device, port);
  };
  const one = Buffer.from(Int32Array.of(1).buffer);
  const deviceName = Buffer.from(`${device}\0`, 'latin1');
  must('opening a socket', fd);
  must('sharing the port', libc.setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, one, one.length));
  must('allowing broadcasts', libc.setsockopt(fd, SOL_SOCKET, SO_BROADCAST, one, one.length));
  must(
    'binding to the device',
    libc.setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, deviceName, deviceName.length),
  );
  const anyAddress = socketAddress(port);
  must('binding to the port', libc.bind(fd, anyAddress, anyAddress.length));
  return fd;
}

/** struct sockaddr_in: family in host order, port in network order, address 0.0.0.0. */
function socketAddress(port: number): Buffer {
  const address = Buffer.alloc(16);
  address.writeUInt16LE(AF_INET, 0);
  address.writeUInt16BE(port, 2);
  return address;
}

function socketError(name: string, step: string, device: string, port: number): KindlingError {
  const message = `UDP port ${port} on ${device}: ${step} failed with ${name}`;
  if (name === 'ENODEV') return new KindlingError('KND_PXE_NO_INTERFACE', message);
  if (name === 'EADDRINUSE') return new KindlingError('KND_PXE_PORT_TAKEN', message);
  const hint =
    name === 'EPERM' || name === 'EACCES'
      ? { hint: 'Start it as root or with CAP_NET_RAW and CAP_NET_BIND_SERVICE.' }
      : {};
  return new KindlingError('KND_PXE_NO_INTERFACE', message, hint);
}
