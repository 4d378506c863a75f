import type { Socket } from 'node:dgram';
import type { DatagramEntrance } from '../../net/datagram-entrance.ts';
import { decodeDhcpPacket, encodeDhcpPacket, macOf } from '../../protocol/dhcp/packet.ts';
import { describeError } from '../../protocol/error.ts';
import { BootHistory, MAX_MACHINES } from './boot-history.ts';
import { type DhcpSite, decideReply } from './decide-reply.ts';
import { openDeviceSocket } from './device-socket.ts';
import { replyAddress } from './reply-address.ts';

/** One packet that came in and what became of it, for the log and the metrics. */
export interface DhcpEvent {
  mac: string;
  port: 67 | 4011;
  answered: boolean;
  reason: string;
}

export interface DhcpServerOptions {
  device: string;
  site: DhcpSite;
  onEvent?: (event: DhcpEvent) => void;
}

const PORTS = [67, 4011] as const;

export const DHCP_ENTRANCE: DatagramEntrance = {
  protocol: 'DHCP',
  ports: PORTS,
  changes: `nothing but the memory of ${MAX_MACHINES.toLocaleString('en')} machines that boot in circles`,
  limits: 'answers by the reservations file only; options are data, never file names of ours',
};

/** Answers DHCP (port 67) and the PXE boot service (port 4011) on one network device. */
export async function startDhcpServer(options: DhcpServerOptions): Promise<AsyncDisposable> {
  const sockets: Socket[] = [];
  const history = new BootHistory();
  const close = async () => {
    await Promise.all(sockets.map((socket) => new Promise<void>((closed) => socket.close(() => closed()))));
  };
  if (options.site.mode === 'off') return { [Symbol.asyncDispose]: close };
  try {
    for (const port of PORTS) {
      const socket = await openDeviceSocket(options.device, port);
      sockets.push(socket);
      socket.on('message', (bytes, sender) => answer(socket, bytes, port, sender, { ...options, history }));
      socket.on('error', (error) =>
        report(options, { mac: '', port, answered: false, reason: describeError(error) }),
      );
    }
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return { [Symbol.asyncDispose]: close };
}

/** Whatever comes in, the server goes on: a packet it cannot read or answer is reported and dropped. */
function answer(
  socket: Socket,
  bytes: Buffer,
  port: 67 | 4011,
  sender: { address: string; port: number },
  options: DhcpServerOptions & { history: BootHistory },
): void {
  let mac = '';
  try {
    const packet = decodeDhcpPacket(bytes);
    mac = macOf(packet);
    const { reply, reason } = decideReply(packet, port, options.site, options.history);
    report(options, { mac, port, answered: reply !== undefined, reason });
    if (!reply) return;
    const to = replyAddress(reply, port, sender);
    socket.send(encodeDhcpPacket(reply), to.port, to.address, (error) => {
      if (error)
        report(options, { mac, port, answered: false, reason: `sending to ${to.address}: ${error.message}` });
    });
  } catch (thrown) {
    report(options, { mac, port, answered: false, reason: describeError(thrown) });
  }
}

function report({ onEvent }: DhcpServerOptions, event: DhcpEvent): void {
  onEvent?.(event);
}
