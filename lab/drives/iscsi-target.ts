import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { AtaDrive } from './ata-drive.ts';
import { encodeIscsi, type IscsiPdu, IscsiReader, Request, Response } from './iscsi-pdu.ts';
import { executeScsi, type ScsiOutcome } from './scsi-translation.ts';

const PREFIX = 'iqn.2026-01.example.kindling';
const FINAL = 0x80;
const CHECK_CONDITION = 2;
/** What an initiator takes in one piece unless it says otherwise. */
const PIECE = 8192;

/**
 * SATA disks for a virtual machine that knows ATA PASS-THROUGH: QEMU itself is the initiator and hands every SCSI command of the guest
 * through (`qemuArgs`); the guest needs nothing, and sees no network.
 */
export class IscsiTarget implements AsyncDisposable {
  readonly #drives: ReadonlyMap<string, AtaDrive>;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(drives: readonly AtaDrive[]) {
    this.#drives = new Map(drives.map((drive) => [nameOf(drive), drive]));
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async start(drives: readonly AtaDrive[]): Promise<IscsiTarget> {
    const target = new IscsiTarget(drives);
    target.#server.listen(0, '127.0.0.1');
    await once(target.#server, 'listening');
    return target;
  }

  /** The drives as disks on a SCSI controller of their own. */
  get qemuArgs(): string[] {
    const { port } = this.#server.address() as AddressInfo;
    const disks = [...this.#drives.keys()].flatMap((name, index) => [
      '-drive',
      `if=none,id=iscsi${index},format=raw,file=iscsi://127.0.0.1:${port}/${name}/0`,
      '-device',
      `scsi-block,bus=iscsi.0,drive=iscsi${index}`,
    ]);
    return ['-device', 'virtio-scsi-pci,id=iscsi', ...disks];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    const session = new Session(socket, this.#drives);
    const reader = new IscsiReader();
    socket.on('data', (chunk: Buffer) => {
      for (const pdu of reader.push(chunk)) session.receive(pdu);
    });
    socket.on('error', () => {}); // an initiator that goes away; `close` follows
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

const nameOf = ({ serial }: AtaDrive) => `${PREFIX}:${serial.toLowerCase()}`;

/** What we insist on; everything else an initiator offers stays at its default. Data comes only when it is asked for: one way is enough. */
const ANSWERS: Record<string, string> = {
  AuthMethod: 'None',
  HeaderDigest: 'None',
  DataDigest: 'None',
  InitialR2T: 'Yes',
  ImmediateData: 'No',
  MaxBurstLength: '16776192',
  FirstBurstLength: '65536',
  MaxOutstandingR2T: '1',
  MaxConnections: '1',
  DataPDUInOrder: 'Yes',
  DataSequenceInOrder: 'Yes',
  DefaultTime2Wait: '0',
  DefaultTime2Retain: '0',
  ErrorRecoveryLevel: '0',
};

class Session {
  readonly #socket: Socket;
  readonly #drives: ReadonlyMap<string, AtaDrive>;
  readonly #awaitingData = new Map<number, { cdb: Buffer; data: Buffer; missing: number }>();
  #drive: AtaDrive | undefined;
  #statusNumber = 0;
  #expectedCommand = 0;

  constructor(socket: Socket, drives: ReadonlyMap<string, AtaDrive>) {
    this.#socket = socket;
    this.#drives = drives;
  }

  receive({ opcode, isImmediate, header, data }: IscsiPdu): void {
    const tag = header.readUInt32BE(16);
    if (opcode === Request.login || (!isImmediate && opcode !== Request.dataOut))
      this.#expectedCommand = header.readUInt32BE(24) + (isImmediate ? 0 : 1);
    switch (opcode) {
      case Request.login:
        this.#login(header, data);
        return;
      case Request.scsiCommand:
        this.#begin(tag, header);
        return;
      case Request.dataOut:
        this.#collect(tag, header, data);
        return;
      case Request.nop:
        if (tag !== 0xffff_ffff) this.#answer(Response.nop, tag, { 20: 0xffff_ffff }, data);
        return;
      case Request.taskManagement:
        this.#answer(Response.taskManagement, tag);
        return;
      case Request.logout:
        this.#answer(Response.logout, tag);
        this.#socket.end();
        return;
      default:
        this.#socket.destroy();
    }
  }

  #login(header: Buffer, data: Buffer): void {
    const offered = data
      .toString('ascii')
      .split('\0')
      .map((pair) => pair.split('='))
      .flatMap(([key, value]) => (key && value ? [[key, value] as const] : []));
    const target = offered.find(([key]) => key === 'TargetName')?.[1];
    this.#drive ??= target === undefined ? undefined : this.#drives.get(target);
    const keys = offered.flatMap(([key]) => (key in ANSWERS ? [`${key}=${ANSWERS[key]}\0`] : []));
    const answer = encodeIscsi(
      Response.login,
      header.readUInt8(1),
      {
        8: header.readUInt32BE(8),
        12: (header.readUInt16BE(12) << 16) | 1, // the session's handle
        16: header.readUInt32BE(16),
        ...this.#numbers(true),
        36: this.#drive ? 0 : 0x0203_0000, // target not found
      },
      Buffer.from(keys.join(''), 'ascii'),
    );
    this.#socket.write(answer);
  }

  #begin(tag: number, header: Buffer): void {
    const cdb = Buffer.from(header.subarray(32, 48));
    const isWrite = (header.readUInt8(1) & 0x20) !== 0;
    const length = header.readUInt32BE(20);
    if (!isWrite || length === 0) {
      void this.#execute(tag, cdb, Buffer.alloc(0), length);
      return;
    }
    this.#awaitingData.set(tag, { cdb, data: Buffer.alloc(length), missing: length });
    const fields = { 16: tag, 20: tag, ...this.#numbers(false), 44: length };
    this.#socket.write(encodeIscsi(Response.readyToTransfer, FINAL, fields));
  }

  #collect(tag: number, header: Buffer, data: Buffer): void {
    const awaiting = this.#awaitingData.get(tag);
    if (!awaiting) return;
    data.copy(awaiting.data, header.readUInt32BE(40));
    awaiting.missing -= data.length;
    if (awaiting.missing > 0) return;
    this.#awaitingData.delete(tag);
    void this.#execute(tag, awaiting.cdb, awaiting.data, awaiting.data.length);
  }

  async #execute(tag: number, cdb: Buffer, out: Buffer, expected: number): Promise<void> {
    const outcome: ScsiOutcome = this.#drive ? await executeScsi(this.#drive, cdb, out) : {};
    if (this.#socket.destroyed) return;
    const data = outcome.data?.subarray(0, expected) ?? Buffer.alloc(0);
    let pieces = 0;
    for (let offset = 0; offset < data.length; offset += PIECE) {
      const isLast = offset + PIECE >= data.length;
      const fields = { 16: tag, 20: 0xffff_ffff, ...this.#numbers(false), 24: 0, 36: pieces++, 40: offset };
      this.#socket.write(
        encodeIscsi(Response.dataIn, isLast ? FINAL : 0, fields, data.subarray(offset, offset + PIECE)),
      );
    }
    const { sense } = outcome;
    const missing = out.length > 0 ? 0 : expected - data.length;
    const underflow = missing > 0 ? 0x02 : 0;
    const senseData = sense ? Buffer.concat([Buffer.from([0, sense.length]), sense]) : Buffer.alloc(0);
    const fields = { 16: tag, ...this.#numbers(true), 36: pieces, 44: missing };
    const response = encodeIscsi(Response.scsi, FINAL | underflow, fields, senseData);
    if (sense) response.writeUInt8(CHECK_CONDITION, 3);
    this.#socket.write(response);
  }

  #answer(opcode: number, tag: number, fields: Record<number, number> = {}, data?: Buffer): void {
    this.#socket.write(encodeIscsi(opcode, FINAL, { 16: tag, ...fields, ...this.#numbers(true) }, data));
  }

  /** StatSN, ExpCmdSN, MaxCmdSN. Only what carries a status counts. */
  #numbers(carriesStatus: boolean): Record<number, number> {
    const status = carriesStatus ? this.#statusNumber++ : this.#statusNumber;
    return { 24: status, 28: this.#expectedCommand, 32: this.#expectedCommand + 64 };
  }
}
