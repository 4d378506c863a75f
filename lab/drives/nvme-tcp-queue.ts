import type { Socket } from 'node:net';
import type { NvmeDrive } from './nvme-drive.ts';
import {
  decodeSubmission,
  encodeCompletion,
  NvmeStatus,
  nvmeError,
  type Outcome,
  type Submission,
} from './nvme-submission.ts';
import {
  controllerData,
  decodeHostData,
  initializeResponse,
  type Pdu,
  PduType,
  readyToTransfer,
  responseCapsule,
} from './nvme-tcp-pdu.ts';

/** What a host connects to: it is there as long as its admin queue. */
export interface Controller {
  id: number;
  drive: NvmeDrive;
  /** The register CC. */
  configuration: number;
}

export interface Controllers {
  find(id: number): Controller | undefined;
  create(nqn: string): Controller | undefined;
}

const OPCODE = {
  abort: 0x08,
  setFeatures: 0x09,
  getFeatures: 0x0a,
  asyncEvent: 0x0c,
  keepAlive: 0x18,
  fabrics: 0x7f,
} as const;
const FABRICS = { propertySet: 0x00, connect: 0x01, propertyGet: 0x04 } as const;
const PROPERTY = { capabilities: 0x00, version: 0x08, configuration: 0x14, status: 0x1c } as const;
/** CAP: 128 entries, contiguous queues, 7.5 s to be ready, the NVM command set. */
const CAPABILITIES = 127n | (1n << 16n) | (15n << 24n) | (1n << 37n);
const VERSION = 0x00010400n;
const NEW_CONTROLLER = 0xffff;
/** An SGL descriptor of this type says that the data is to be asked for. */
const TRANSPORT_DATA_BLOCK = 0x5a;
const MAXIMUM_HOST_DATA = 128 << 10;

/** One connection is one pair of queues: 0 for admin commands, 1 for I/O. */
export class NvmeTcpQueue {
  id = 0;
  controller: Controller | undefined;
  readonly #socket: Socket;
  readonly #controllers: Controllers;
  readonly #awaitingData = new Map<number, { submission: Submission; data: Buffer; missing: number }>();
  #entries = 1;
  #head = 0;

  constructor(socket: Socket, controllers: Controllers) {
    this.#socket = socket;
    this.#controllers = controllers;
  }

  receive({ type, header, data }: Pdu): void {
    switch (type) {
      case PduType.initializeRequest:
        this.#socket.write(initializeResponse(MAXIMUM_HOST_DATA));
        return;
      case PduType.command:
        this.#begin(decodeSubmission(header.subarray(8)), data);
        return;
      case PduType.hostData:
        this.#collect(header, data);
        return;
      default:
        throw new Error(`PDU type ${type} is not one that a host sends`);
    }
  }

  #begin(submission: Submission, inCapsule: Buffer): void {
    this.#head = (this.#head + 1) % this.#entries;
    const { sqe, opcode, commandId } = submission;
    const kind = opcode === OPCODE.fabrics ? sqe.readUInt8(4) : opcode;
    const length = sqe.readUInt32LE(32);
    const isToBeAskedFor = (kind & 3) === 1 && sqe.readUInt8(39) === TRANSPORT_DATA_BLOCK && length > 0;
    if (!isToBeAskedFor) {
      void this.#finish(submission, inCapsule);
      return;
    }
    this.#awaitingData.set(commandId, { submission, data: Buffer.alloc(length), missing: length });
    this.#socket.write(readyToTransfer(commandId, commandId, length));
  }

  #collect(header: Buffer, data: Buffer): void {
    const { tag, offset } = decodeHostData(header);
    const awaiting = this.#awaitingData.get(tag);
    if (!awaiting) throw new Error(`data for command ${tag}, which asked for none`);
    data.copy(awaiting.data, offset);
    awaiting.missing -= data.length;
    if (awaiting.missing > 0) return;
    this.#awaitingData.delete(tag);
    void this.#finish(awaiting.submission, awaiting.data);
  }

  async #finish(submission: Submission, data: Buffer): Promise<void> {
    const outcome = await this.#execute(submission, data);
    if (outcome === 'later' || this.#socket.destroyed) return;
    if (outcome.data && !outcome.status) {
      this.#socket.write(
        controllerData(submission.commandId, outcome.data.subarray(0, submission.sqe.readUInt32LE(32))),
      );
    }
    const completion = encodeCompletion(submission.commandId, { id: this.id, head: this.#head }, outcome);
    this.#socket.write(responseCapsule(completion));
  }

  #execute(submission: Submission, data: Buffer): Outcome | 'later' | Promise<Outcome> {
    const { opcode, sqe } = submission;
    if (opcode === OPCODE.fabrics) return this.#fabrics(sqe, data);
    if (!this.controller) return nvmeError(NvmeStatus.connectInvalidParameters);
    if (this.id > 0) return this.controller.drive.executeIo(submission, data);
    switch (opcode) {
      case OPCODE.setFeatures:
      case OPCODE.getFeatures:
        return {}; // "number of queues" counts from 0: there is one for I/O
      case OPCODE.keepAlive:
        return {};
      case OPCODE.abort:
        return { result: 1n }; // was not aborted: it is already done
      case OPCODE.asyncEvent:
        return 'later';
      default:
        return this.controller.drive.executeAdmin(submission, this.controller.id);
    }
  }

  #fabrics(sqe: Buffer, data: Buffer): Outcome {
    switch (sqe.readUInt8(4)) {
      case FABRICS.connect:
        return this.#connect(sqe, data);
      case FABRICS.propertyGet:
        return this.#property(sqe.readUInt32LE(44));
      case FABRICS.propertySet:
        if (this.controller && sqe.readUInt32LE(44) === PROPERTY.configuration)
          this.controller.configuration = sqe.readUInt32LE(48);
        return {};
      default:
        return nvmeError(NvmeStatus.invalidField);
    }
  }

  #connect(sqe: Buffer, data: Buffer): Outcome {
    const text = (at: number) => data.toString('ascii', at, data.indexOf(0, at));
    const wanted = data.readUInt16LE(16);
    this.id = sqe.readUInt16LE(42);
    this.#entries = sqe.readUInt16LE(44) + 1;
    this.controller =
      wanted === NEW_CONTROLLER ? this.#controllers.create(text(256)) : this.#controllers.find(wanted);
    if (!this.controller) return nvmeError(NvmeStatus.connectInvalidParameters);
    return { result: BigInt(this.controller.id) };
  }

  #property(offset: number): Outcome {
    const configuration = this.controller?.configuration ?? 0;
    const isEnabled = (configuration & 1) !== 0;
    const isShutDown = ((configuration >>> 14) & 3) !== 0;
    switch (offset) {
      case PROPERTY.capabilities:
        return { result: CAPABILITIES };
      case PROPERTY.version:
        return { result: VERSION };
      case PROPERTY.configuration:
        return { result: BigInt(configuration) };
      case PROPERTY.status:
        return { result: BigInt((isEnabled ? 1 : 0) | (isShutDown ? 2 << 2 : 0)) };
      default:
        return nvmeError(NvmeStatus.invalidField);
    }
  }
}
