import { readFileSync } from 'node:fs';
import { KindlingError } from '../protocol/error.ts';
import { waitFor } from '../system/wait.ts';

/** Not /sys/class/net, which shows the devices of the network namespace it was mounted in. */
const DEVICES = '/proc/net/dev';
const AF_INET = 2;
const SOCK_DGRAM = 2;
/** linux/sockios.h; all fill in a struct ifreq. */
const SIOCGIFFLAGS = 0x8913;
const SIOCGIFADDR = 0x8915;
const SIOCGIFHWADDR = 0x8927;
/** struct ifreq: the name, then what was asked for: flags, a sockaddr with a MAC address, a sockaddr_in. */
const IFREQ = { size: 40, flags: 16, mac: 18, address: 20 } as const;
const IFF_UP = 1;
const IFF_RUNNING = 0x40;

export interface DeviceState {
  isUp: boolean;
  /** Whether a cable is in and the other side is on. */
  hasCarrier: boolean;
  address: string | undefined;
  mac: string;
}

/**
 * Asks the kernel about a device. Not os.networkInterfaces(): that leaves out devices without a carrier, and a server
 * that starts before its switch has an address all the same.
 */
export async function readDevice(device: string): Promise<DeviceState> {
  mustExist(device);
  const ffi = await import('node:ffi');
  const { functions: libc } = ffi.dlopen(null, {
    socket: { arguments: ['int32', 'int32', 'int32'], return: 'int32' },
    ioctl: { arguments: ['int32', 'uint64', 'buffer'], return: 'int32' },
    close: { arguments: ['int32'], return: 'int32' },
  });
  const socket = libc.socket(AF_INET, SOCK_DGRAM, 0);
  const ask = (request: number): Buffer | undefined => {
    const buffer = Buffer.alloc(IFREQ.size);
    buffer.write(device, 'latin1');
    return libc.ioctl(socket, BigInt(request), buffer) === 0 ? buffer : undefined;
  };
  try {
    const flags = ask(SIOCGIFFLAGS)?.readUInt16LE(IFREQ.flags) ?? 0;
    const address = ask(SIOCGIFADDR)?.subarray(IFREQ.address, IFREQ.address + 4);
    const mac = ask(SIOCGIFHWADDR)?.subarray(IFREQ.mac, IFREQ.mac + 6) ?? Buffer.alloc(6);
    return {
      isUp: (flags & IFF_UP) !== 0,
      hasCarrier: (flags & IFF_RUNNING) !== 0,
      address: address && [...address].join('.'),
      mac: mac.toString('hex').replaceAll(/..(?!$)/g, '$&:'),
    };
  } finally {
    libc.close(socket);
  }
}

/** The IPv4 address of a device that is up; waits for it, and says what is missing when that changes. */
export async function waitForDeviceAddress(
  device: string,
  { say, signal }: { say: (text: string) => void; signal?: AbortSignal },
): Promise<string> {
  let said = '';
  return waitFor(
    async () => {
      const state = await readDevice(device);
      const text = describeDevice(device, state);
      if (text !== said && text !== '') say(text);
      said = text;
      return state.isUp ? state.address : undefined;
    },
    {
      name: `an IPv4 address on ${device}`,
      timeoutMs: Number.POSITIVE_INFINITY,
      intervalMs: 500,
      ...(signal ? { signal } : {}),
    },
  );
}

/** What keeps machines from booting over a device; empty if nothing does. */
function describeDevice(device: string, { isUp, hasCarrier, address }: Omit<DeviceState, 'mac'>): string {
  if (!isUp) return `${device} is switched off. Waiting for it (ip link set ${device} up).`;
  if (!address) return `${device} has no IPv4 address. Waiting for one.`;
  if (!hasCarrier)
    return `${device} (${address}) has no carrier: is the cable in? Machines are served once it has.`;
  return '';
}

/** Refuses a name that no device has. */
export function mustExist(device: string): void {
  const [, , ...lines] = readFileSync(DEVICES, 'latin1').trim().split('\n');
  const known = lines.map((line) => line.trim().replace(/:.*/, ''));
  if (known.includes(device)) return;
  throw new KindlingError(
    'KND_PXE_NO_INTERFACE',
    `there is no network interface "${device}"; this machine has: ${known.join(', ')}`,
  );
}
