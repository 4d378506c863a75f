import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { NvmeDrive } from './nvme-drive.ts';
import { PduReader } from './nvme-tcp-pdu.ts';
import { type Controller, NvmeTcpQueue } from './nvme-tcp-queue.ts';

/**
 * Drives that a Linux kernel reaches by its own nvme-tcp driver: for what QEMU's NVMe device cannot do (sanitize, two ports, failures in
 * the middle). The guest connects with `echo transport=tcp,traddr=10.0.2.2,trsvcid=<port>,nqn=<drive.nqn>,… > /dev/nvme-fabrics`.
 */
export class NvmeTcpTarget implements AsyncDisposable {
  readonly #drives = new Map<string, NvmeDrive>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #controllers = new Map<number, Controller>();
  #lastController = 0;
  #isOff = false;

  private constructor() {
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async start(drives: readonly NvmeDrive[]): Promise<NvmeTcpTarget> {
    const target = new NvmeTcpTarget();
    for (const drive of drives) target.#drives.set(drive.nqn, drive);
    target.#server.listen(0, '127.0.0.1');
    await once(target.#server, 'listening');
    return target;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The drives lose their power: every connection breaks. What is on them stays, and so does how far a sanitize had come. */
  powerOff(): void {
    this.#isOff = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  powerOn(): void {
    this.#isOff = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(socket: Socket): void {
    if (this.#isOff) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    const queue = new NvmeTcpQueue(socket, {
      find: (id) => this.#controllers.get(id),
      create: (nqn) => this.#createController(nqn),
    });
    const reader = new PduReader();
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const pdu of reader.push(chunk)) queue.receive(pdu);
      } catch (error) {
        socket.destroy(error instanceof Error ? error : undefined);
      }
    });
    socket.on('error', () => {}); // a host that goes away; `close` follows
    socket.on('close', () => {
      this.#sockets.delete(socket);
      // Without its admin queue a controller is no more (NVMe over Fabrics 1.1, section 4.6).
      if (queue.id === 0 && queue.controller) this.#controllers.delete(queue.controller.id);
    });
  }

  #createController(nqn: string): Controller | undefined {
    const drive = this.#drives.get(nqn);
    if (!drive) return undefined;
    const controller = { id: ++this.#lastController, drive, configuration: 0 };
    this.#controllers.set(controller.id, controller);
    return controller;
  }
}
