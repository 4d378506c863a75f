import type { Socket } from 'node:dgram';
import { openDeviceSocket } from '../../netboot/dhcp/device-socket.ts';
import { DhcpMessageType, DhcpOption } from '../../protocol/dhcp/options.ts';
import {
  type DhcpPacket,
  decodeDhcpPacket,
  encodeDhcpPacket,
  newClientPacket,
} from '../../protocol/dhcp/packet.ts';

const UEFI_X64 = 7;
/** Firmware asks again after 4, 8, 16 … seconds (RFC 2131 4.1); a script need not be so patient. */
const ASK_AGAIN_MS = 2000;
const TRIES = 15;

/** Many DHCP clients behind one network device: answers find their client by the transaction. */
export class DhcpClients implements Disposable {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, (packet: DhcpPacket) => void>();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (bytes) => {
      const packet = decodeDhcpPacket(bytes);
      if (packet.op === 2) this.#waiting.get(packet.transactionId)?.(packet);
    });
  }

  static async open(device: string): Promise<DhcpClients> {
    return new DhcpClients(await openDeviceSocket(device, 68));
  }

  /** DISCOVER, OFFER, REQUEST, ACK, as UEFI firmware does it, or iPXE with our script. Gives the ACK. */
  async boot(mac: string, userClass?: string): Promise<{ ack: DhcpPacket; tries: number }> {
    const discover = clientPacket(mac, DhcpMessageType.discover, userClass);
    const offered = await this.#exchange(discover, DhcpMessageType.offer);
    const request = clientPacket(mac, DhcpMessageType.request, userClass);
    request.options.set(DhcpOption.requestedAddress, addressBytes(offered.answer.yourAddress));
    const server = offered.answer.options.get(DhcpOption.serverIdentifier);
    if (server) request.options.set(DhcpOption.serverIdentifier, server);
    const { answer: ack, tries } = await this.#exchange(request, DhcpMessageType.ack);
    return { ack, tries: offered.tries + tries };
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  async #exchange(packet: DhcpPacket, type: number): Promise<{ answer: DhcpPacket; tries: number }> {
    const { promise, resolve, reject } = Promise.withResolvers<DhcpPacket>();
    this.#waiting.set(packet.transactionId, (answer) => {
      if (answer.options.get(DhcpOption.messageType)?.[0] === type) resolve(answer);
    });
    let tries = 0;
    const ask = () => {
      tries += 1;
      if (tries > TRIES) reject(new Error(`nobody answered message ${type} after ${TRIES} tries`));
      else this.#socket.send(encodeDhcpPacket(packet), 67, '255.255.255.255');
    };
    const again = setInterval(ask, ASK_AGAIN_MS);
    ask();
    try {
      return { answer: await promise, tries };
    } finally {
      clearInterval(again);
      this.#waiting.delete(packet.transactionId);
    }
  }
}

function clientPacket(mac: string, type: number, userClass: string | undefined): DhcpPacket {
  return newClientPacket(
    mac,
    new Map<number, Buffer>([
      [DhcpOption.messageType, Buffer.of(type)],
      [DhcpOption.vendorClass, Buffer.from('PXEClient:Arch:00007:UNDI:003000', 'latin1')],
      [DhcpOption.clientArchitecture, Buffer.of(0, UEFI_X64)],
      [DhcpOption.clientNetworkInterface, Buffer.of(1, 3, 0)],
      [DhcpOption.clientMachineIdentifier, Buffer.alloc(17)],
      ...(userClass === undefined
        ? []
        : [[DhcpOption.userClass, Buffer.from(userClass, 'latin1')] as [number, Buffer]]),
    ]),
  );
}

function addressBytes(address: string): Buffer {
  return Buffer.from(address.split('.').map(Number));
}
