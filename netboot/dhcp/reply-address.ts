import { DhcpMessageType, DhcpOption } from '../../protocol/dhcp/options.ts';
import type { DhcpPacket } from '../../protocol/dhcp/packet.ts';

/** Where a reply goes: the relay, the client's address, or everybody (RFC 2131 4.1). */
export function replyAddress(
  reply: DhcpPacket,
  port: 67 | 4011,
  sender: { address: string; port: number },
): { address: string; port: number } {
  if (port === 4011) return sender; // the PXE boot service answers the port that asked, which need not be 68
  if (reply.relayAddress !== '0.0.0.0') return { address: reply.relayAddress, port: 67 };
  const isRefusal = reply.options.get(DhcpOption.messageType)?.[0] === DhcpMessageType.nak;
  if (!isRefusal && reply.clientAddress !== '0.0.0.0') return { address: reply.clientAddress, port: 68 };
  // A client without an address cannot answer ARP, so it is reached by broadcast whatever its flag says.
  return { address: '255.255.255.255', port: 68 };
}
