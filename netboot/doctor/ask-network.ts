import { setTimeout as delay } from 'node:timers/promises';
import { DhcpMessageType, DhcpOption } from '../../protocol/dhcp/options.ts';
import {
  type DhcpPacket,
  decodeDhcpPacket,
  encodeDhcpPacket,
  newClientPacket,
} from '../../protocol/dhcp/packet.ts';
import { openDeviceSocket } from '../dhcp/device-socket.ts';

export interface Probe {
  device: string;
  mac: string;
  kind: 'PXEClient' | 'HTTPClient';
  architecture: number;
  /** How long firmware collects offers; OVMF waits a little under four seconds. */
  listenMs: number;
}

/** Sends the DISCOVER that firmware would send, and gives every answer that came. Takes no lease. */
export async function askNetwork(probe: Probe): Promise<{ packet: DhcpPacket; sender: string }[]> {
  const socket = await openDeviceSocket(probe.device, 68);
  try {
    const discover = discoverPacket(probe);
    const answers: { packet: DhcpPacket; sender: string }[] = [];
    socket.on('message', (bytes, sender) => {
      try {
        const packet = decodeDhcpPacket(bytes);
        const isForUs = packet.op === 2 && packet.transactionId === discover.transactionId;
        if (isForUs) answers.push({ packet, sender: sender.address });
      } catch {
        // somebody else's broadcast that is not DHCP
      }
    });
    socket.send(encodeDhcpPacket(discover), 67, '255.255.255.255');
    await delay(probe.listenMs);
    return answers;
  } finally {
    socket.close();
  }
}

function discoverPacket(probe: Probe): DhcpPacket {
  const architecture = Buffer.alloc(2);
  architecture.writeUInt16BE(probe.architecture);
  const architectureText = String(probe.architecture).padStart(5, '0');
  return newClientPacket(
    probe.mac,
    new Map<number, Buffer>([
      [DhcpOption.messageType, Buffer.of(DhcpMessageType.discover)],
      [
        DhcpOption.parameterRequestList,
        Buffer.of(
          DhcpOption.subnetMask,
          DhcpOption.router,
          DhcpOption.dnsServers,
          DhcpOption.vendorSpecific,
          DhcpOption.serverIdentifier,
          DhcpOption.vendorClass,
          DhcpOption.tftpServerName,
          DhcpOption.bootFileName,
        ),
      ],
      [DhcpOption.vendorClass, Buffer.from(`${probe.kind}:Arch:${architectureText}:UNDI:003000`, 'latin1')],
      [DhcpOption.clientArchitecture, architecture],
      [DhcpOption.clientNetworkInterface, Buffer.of(1, 3, 0)],
      [DhcpOption.clientMachineIdentifier, Buffer.alloc(17)],
    ]),
  );
}
