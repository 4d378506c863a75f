import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { DatagramEntrance } from '../../net/datagram-entrance.ts';
import { Slots } from '../../net/slots.ts';
import { describeError, KindlingError } from '../../protocol/error.ts';
import {
  decodeTftpPacket,
  encodeTftpPacket,
  TftpErrorCode,
  type TftpPacket,
} from '../../protocol/tftp/packet.ts';
import { TftpTransfer, TRIES_BEFORE_ANSWER, type TransferStep } from './tftp-transfer.ts';

/** Where the server finds a file: undefined when there is none of that name. Never sees a name outside its root. */
export interface TftpFiles {
  read(name: string): Promise<Buffer | undefined>;
}

export interface TftpEvent {
  client: string;
  file: string;
  outcome: 'complete' | 'aborted' | 'timed-out' | 'not-found' | 'refused';
  bytes: number;
  durationMs: number;
}

export interface TftpServerOptions {
  address: string;
  /** 69; 0 lets the system choose (tests). */
  port?: number;
  files: TftpFiles;
  /** Answer from port 69 itself (firewalls, NAT) instead of a port of its own per transfer (RFC 1350). */
  singlePort?: boolean;
  /** Ports to answer from when not in single-port mode; the system chooses when absent. */
  portRange?: { from: number; to: number };
  /** What the path to the clients carries without fragments; 1468 fits an Ethernet frame. */
  largestBlockBytes?: number;
  onEvent?: (event: TftpEvent) => void;
  /** A fault of the server itself, which goes on. */
  onFailure?: (message: string) => void;
}

export interface TftpServer extends AsyncDisposable {
  port: number;
  activeTransfers(): number;
}

/**
 * Sockets that are open at once. Machines behind one NAT share an address, and each fetches one file at a time; a flood from
 * one address leaves room for the others.
 */
const TRANSFERS = { inAll: 1000, perAddress: 256 } as const;
const TFTP_PORT = 69;

export const TFTP_ENTRANCE: DatagramEntrance = {
  protocol: 'TFTP',
  ports: [TFTP_PORT],
  changes: 'an event says which file was fetched',
  limits: [
    'read requests only, files below the folder',
    `${TRANSFERS.inAll.toLocaleString('en')} transfers, ${TRANSFERS.perAddress} per address`,
    `${TRIES_BEFORE_ANSWER} packets before the first answer`,
    'no source port 0',
  ].join('; '),
};

interface Running {
  key: string;
  file: string;
  transfer: TftpTransfer;
  reply: (packet: Buffer) => void;
  timer: NodeJS.Timeout;
  startedAt: number;
  release: () => void;
}

/** Serves files read-only over TFTP to any number of clients at once. */
export async function startTftpServer(options: TftpServerOptions): Promise<TftpServer> {
  const transfers = new Map<string, Running>();
  const socket = await openSocket(options.address, options.port ?? TFTP_PORT);
  const server = new TransferTable(options, socket, transfers);
  socket.on('message', (bytes, sender) => {
    // Nobody can be answered at port 0: such a datagram is forged, and sending to it throws.
    if (sender.port === 0) return;
    server.receive(bytes, sender).catch((thrown: unknown) => options.onFailure?.(describeError(thrown)));
  });
  return {
    port: socket.address().port,
    activeTransfers: () => transfers.size,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await new Promise<void>((closed) => socket.close(() => closed()));
    },
  };
}

class TransferTable {
  readonly #options: TftpServerOptions;
  readonly #mainSocket: Socket;
  readonly #transfers: Map<string, Running>;
  readonly #slots = new Slots(TRANSFERS);
  #nextPort = 0;
  #isClosed = false;

  constructor(options: TftpServerOptions, mainSocket: Socket, transfers: Map<string, Running>) {
    this.#options = options;
    this.#mainSocket = mainSocket;
    this.#transfers = transfers;
  }

  /** A packet on the main port: a request, or in single-port mode an answer within a transfer. */
  async receive(bytes: Buffer, sender: { address: string; port: number }): Promise<void> {
    const key = `${sender.address}:${sender.port}`;
    const replyHere = (packet: Buffer) => this.#mainSocket.send(packet, sender.port, sender.address);
    let packet: TftpPacket;
    try {
      packet = decodeTftpPacket(bytes);
    } catch (thrown) {
      replyHere(tftpError(TftpErrorCode.illegalOperation, (thrown as Error).message));
      return;
    }
    const running = this.#transfers.get(key);
    switch (packet.type) {
      case 'read':
        if (running) this.end(running); // the client forgot its first try
        await this.#startRead(packet.file, packet.options, key, sender);
        return;
      case 'write':
        replyHere(tftpError(TftpErrorCode.accessViolation, 'this server is read-only'));
        this.#report(key, packet.file, 'refused', 0, 0);
        return;
      default:
        if (running) this.#apply(running, running.transfer.receive(packet));
        else if (packet.type !== 'error')
          replyHere(tftpError(TftpErrorCode.unknownTransfer, 'no such transfer'));
    }
  }

  async #startRead(
    file: string,
    requested: ReadonlyMap<string, string>,
    key: string,
    sender: { address: string; port: number },
  ): Promise<void> {
    const slot = this.#takeSlot(sender.address);
    if (!slot) {
      this.#mainSocket.send(
        tftpError(TftpErrorCode.notDefined, 'too many transfers'),
        sender.port,
        sender.address,
      );
      this.#report(key, file, 'refused', 0, 0);
      return;
    }
    using held = new DisposableStack();
    held.use(slot);
    const name = confinedName(file);
    const content =
      name === undefined ? undefined : await this.#options.files.read(name).catch(() => undefined);
    if (!content) {
      const why = name === undefined ? `${file} leads outside the root` : `${file} does not exist`;
      const code = name === undefined ? TftpErrorCode.accessViolation : TftpErrorCode.fileNotFound;
      this.#mainSocket.send(tftpError(code, why), sender.port, sender.address);
      this.#report(key, file, name === undefined ? 'refused' : 'not-found', 0, 0);
      return;
    }
    const socket = this.#options.singlePort ? this.#mainSocket : await this.#transferSocket(key);
    if (socket !== this.#mainSocket) held.defer(() => socket.close());
    const transfer = new TftpTransfer(content, requested, this.#options.largestBlockBytes ?? 1468);
    const owned = held.move();
    const running: Running = {
      key,
      file,
      transfer,
      reply: (packet) => socket.send(packet, sender.port, sender.address, () => {}),
      timer: setInterval(() => this.#apply(running, running.transfer.timeOut()), transfer.timeoutMs),
      startedAt: performance.now(),
      release: () => owned.dispose(),
    };
    // A client that asked again while the file was being opened gets one transfer, not two; after the server's end nobody gets any.
    const earlier = this.#transfers.get(key);
    if (earlier) this.end(earlier);
    if (this.#isClosed) return this.end(running);
    this.#transfers.set(key, running);
    this.#apply(running, transfer.start());
  }

  /** Where all slots are taken, the oldest transfer goes that no client has answered: its address may be made up. */
  #takeSlot(address: string): Disposable | undefined {
    if (this.#slots.isFull) {
      const unproven = [...this.#transfers.values()].find(({ transfer }) => !transfer.isAnswered);
      if (unproven) this.end(unproven);
    }
    return this.#slots.take(address);
  }

  #apply(running: Running, step: TransferStep): void {
    for (const packet of step.send) running.reply(packet);
    if (step.send.length > 0) running.timer.refresh();
    if (!step.outcome) return;
    this.end(running);
    const durationMs = performance.now() - running.startedAt;
    this.#report(running.key, running.file, step.outcome, running.transfer.content.length, durationMs);
  }

  close(): void {
    this.#isClosed = true;
    for (const running of this.#transfers.values()) this.end(running);
  }

  end(running: Running): void {
    clearInterval(running.timer);
    if (this.#transfers.get(running.key) === running) this.#transfers.delete(running.key);
    running.release();
  }

  /** A socket of its own for one transfer; packets on it from anybody else are refused (RFC 1350 4). */
  async #transferSocket(key: string): Promise<Socket> {
    const socket = await this.#bindTransferSocket();
    socket.on('message', (bytes, from) => {
      const running = this.#transfers.get(key);
      if (from.port === 0) return;
      if (`${from.address}:${from.port}` !== key || !running) {
        socket.send(
          tftpError(TftpErrorCode.unknownTransfer, 'no such transfer'),
          from.port,
          from.address,
          () => {},
        );
        return;
      }
      try {
        this.#apply(running, running.transfer.receive(decodeTftpPacket(bytes)));
      } catch {
        // not TFTP: the transfer goes on with the next packet or time-out
      }
    });
    return socket;
  }

  async #bindTransferSocket(): Promise<Socket> {
    const range = this.#options.portRange;
    if (!range) return openSocket(this.#options.address, 0);
    const size = range.to - range.from + 1;
    for (let tries = 0; tries < size; tries += 1) {
      const port = range.from + (this.#nextPort++ % size);
      try {
        return await openSocket(this.#options.address, port);
      } catch {
        // taken by another transfer: the next one
      }
    }
    return openSocket(this.#options.address, 0);
  }

  #report(
    client: string,
    file: string,
    outcome: TftpEvent['outcome'],
    bytes: number,
    durationMs: number,
  ): void {
    this.#options.onEvent?.({ client, file, outcome, bytes, durationMs });
  }
}

/** The name below the root, with either kind of slash; undefined when it leads outside. */
function confinedName(file: string): string | undefined {
  const parts = file
    .replaceAll('\\', '/')
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  return parts.includes('..') || file.includes('\0') || parts.length === 0 ? undefined : parts.join('/');
}

function tftpError(code: number, message: string): Buffer {
  return encodeTftpPacket({ type: 'error', code, message });
}

async function openSocket(address: string, port: number): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.bind(port, address);
  try {
    await once(socket, 'listening');
  } catch (cause) {
    throw new KindlingError('KND_PXE_PORT_TAKEN', `UDP port ${port} on ${address} cannot be opened`, {
      cause,
    });
  }
  socket.on('error', () => {}); // one unreachable client must not end the server
  return socket;
}
