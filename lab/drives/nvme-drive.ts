import { NvmeStatus, nvmeError, type Outcome, type Submission } from './nvme-submission.ts';
import { SparseMemory } from './sparse-memory.ts';

const LBA_BYTES = 512;
const NAMESPACE = 1;

/** NVM Express base specification 1.4, figures 139 and 346. */
const ADMIN = { getLogPage: 0x02, identify: 0x06, format: 0x80, sanitize: 0x84 } as const;
const IO = { flush: 0x00, write: 0x01, read: 0x02, writeZeroes: 0x08, datasetManagement: 0x09 } as const;

type SanitizeKind = 'block' | 'overwrite' | 'crypto';
const SANITIZE_ACTIONS: Record<number, SanitizeKind> = { 2: 'block', 3: 'overwrite', 4: 'crypto' };

/**
 * One NVMe drive with one namespace: what its controller says about itself, what it does with the commands that erase, and what may go
 * wrong. Everything can be changed while it runs; a host sees it at its next question.
 */
export class NvmeDrive {
  readonly serial: string;
  readonly memory: SparseMemory;
  /** Controllers of a drive with two ports: Linux then shows one disk and a hidden one for each path. */
  readonly hasTwoPorts: boolean;
  sanitizes: ReadonlySet<SanitizeKind> = new Set(['block', 'crypto', 'overwrite']);
  canFormat = true;
  /** A sanitize ends at once: well, badly, or saying that it is done when nothing was. `held`: it goes on until `finishSanitize`. */
  sanitizeEnds: 'well' | 'failed' | 'lying' | 'held' = 'well';
  /** A format is answered only when `finishFormat` says so. */
  holdsFormat = false;
  #heldFormat: (() => void) | undefined;
  /** Of a sanitize that is held. */
  progress = 0;
  /** Every sanitize and format that was asked for, by its command dword 10. */
  readonly erasures: { opcode: number; cdw10: number }[] = [];
  #sanitize: { state: 'never' | 'running' | 'done' | 'failed'; kind: SanitizeKind; cdw10: number } = {
    state: 'never',
    kind: 'block',
    cdw10: 0,
  };

  constructor(spec: { serial: string; sizeBytes: number; hasTwoPorts?: boolean }) {
    this.serial = spec.serial;
    this.memory = new SparseMemory(spec.sizeBytes);
    this.hasTwoPorts = spec.hasTwoPorts ?? false;
  }

  get nqn(): string {
    return `nqn.2026-01.example.kindling:${this.serial}`;
  }

  get isSanitizing(): boolean {
    return this.#sanitize.state === 'running';
  }

  get isFormatting(): boolean {
    return this.#heldFormat !== undefined;
  }

  finishFormat(): void {
    this.#heldFormat?.();
    this.#heldFormat = undefined;
  }

  finishSanitize(how: 'well' | 'failed' | 'lying' = 'well'): void {
    const { kind } = this.#sanitize;
    this.#sanitize.state = how === 'failed' ? 'failed' : 'done';
    if (how !== 'well') return;
    if (kind === 'crypto') this.memory.scramble();
    else this.memory.zero();
  }

  /** The admin commands that are about the drive; those about queues and the connection are the transport's. */
  executeAdmin(submission: Submission, controllerId: number): Outcome | Promise<Outcome> {
    switch (submission.opcode) {
      case ADMIN.identify:
        return this.#identify(submission, controllerId);
      case ADMIN.getLogPage:
        return this.#logPage(submission);
      case ADMIN.format:
        return this.#format(submission);
      case ADMIN.sanitize:
        return this.#startSanitize(submission);
      default:
        return nvmeError(NvmeStatus.invalidOpcode);
    }
  }

  executeIo({ opcode, sqe }: Submission, data: Buffer): Outcome {
    // Section 8.15.1: no command may touch data meanwhile, nor after a failure until one has succeeded.
    if (this.#sanitize.state === 'running') return nvmeError(NvmeStatus.sanitizeInProgress);
    if (this.#sanitize.state === 'failed') return nvmeError(NvmeStatus.sanitizeFailed);
    const offset = Number(sqe.readBigUInt64LE(40)) * LBA_BYTES;
    const length = (sqe.readUInt16LE(48) + 1) * LBA_BYTES;
    const isOutside = offset + length > this.memory.sizeBytes;
    switch (opcode) {
      case IO.flush:
        return {};
      case IO.datasetManagement:
        return this.#deallocate(data);
      case IO.read:
        return isOutside ? nvmeError(NvmeStatus.lbaOutOfRange) : { data: this.memory.read(offset, length) };
      case IO.write:
      case IO.writeZeroes:
        if (isOutside) return nvmeError(NvmeStatus.lbaOutOfRange);
        if (opcode === IO.write) this.memory.write(offset, data);
        else this.memory.zero(offset, length);
        return {};
      default:
        return nvmeError(NvmeStatus.invalidOpcode);
    }
  }

  #deallocate(ranges: Buffer): Outcome {
    for (let at = 0; at + 16 <= ranges.length; at += 16) {
      const offset = Number(ranges.readBigUInt64LE(at + 8)) * LBA_BYTES;
      const length = ranges.readUInt32LE(at + 4) * LBA_BYTES;
      if (offset + length > this.memory.sizeBytes) return nvmeError(NvmeStatus.lbaOutOfRange);
      this.memory.zero(offset, length);
    }
    return {};
  }

  #identify({ nsid, cdw10 }: Submission, controllerId: number): Outcome {
    const CNS = { namespace: 0, controller: 1, activeNamespaces: 2, descriptors: 3 } as const;
    const data = Buffer.alloc(4096);
    switch (cdw10 & 0xff) {
      case CNS.controller:
        this.#describeController(data, controllerId);
        return { data };
      case CNS.activeNamespaces:
        if (nsid < NAMESPACE) data.writeUInt32LE(NAMESPACE, 0);
        return { data };
      case CNS.namespace:
        if (nsid === NAMESPACE) this.#describeNamespace(data);
        return { data };
      case CNS.descriptors:
        data.writeUInt8(1, 0); // EUI-64
        data.writeUInt8(8, 1);
        this.#eui64().copy(data, 4);
        return { data };
      default:
        return nvmeError(NvmeStatus.invalidField);
    }
  }

  /** Figure 247. */
  #describeController(data: Buffer, controllerId: number): void {
    data.write(this.serial.padEnd(20), 4, 'ascii');
    data.write('Kindling lab drive'.padEnd(40), 24, 'ascii');
    data.write('1'.padEnd(8), 64, 'ascii');
    data.writeUInt8(this.hasTwoPorts ? 2 : 0, 76); // CMIC: several controllers
    data.writeUInt8(5, 77); // MDTS: 128 KiB
    data.writeUInt16LE(controllerId, 78);
    data.writeUInt32LE(0x00010400, 80); // VER
    data.writeUInt8(1, 111); // CNTRLTYPE: I/O
    data.writeUInt16LE(this.canFormat ? 2 : 0, 256); // OACS
    data.writeUInt8(3, 259); // AERL
    data.writeUInt16LE(10, 320); // KAS: one second
    data.writeUInt32LE(this.#sanicap(), 328);
    data.writeUInt8(0x66, 512); // SQES
    data.writeUInt8(0x44, 513); // CQES
    data.writeUInt16LE(128, 514); // MAXCMD
    data.writeUInt32LE(1, 516); // NN
    data.writeUInt16LE((1 << 2) | (1 << 3), 520); // ONCS: dataset management, write zeroes
    data.writeUInt8(4, 524); // FNA: cryptographic erase, of one namespace
    data.writeUInt8(1, 525); // VWC
    data.writeUInt32LE(1 | (1 << 20), 536); // SGLS, with offsets into the capsule
    data.write(this.nqn, 768, 'ascii');
    data.writeUInt32LE((64 + 8192) / 16, 1792); // IOCCSZ: 8 KiB come with a command, more is asked for
    data.writeUInt32LE(1, 1796); // IORCSZ
    data.writeUInt8(1, 1803); // MSDBD
  }

  #sanicap(): number {
    const bit = (kind: SanitizeKind, value: number) => (this.sanitizes.has(kind) ? value : 0);
    return bit('crypto', 1) | bit('block', 2) | bit('overwrite', 4);
  }

  /** Figure 245. */
  #describeNamespace(data: Buffer): void {
    for (const at of [0, 8, 16]) data.writeBigUInt64LE(BigInt(this.memory.sizeBytes / LBA_BYTES), at);
    data.writeUInt8(this.hasTwoPorts ? 1 : 0, 30); // NMIC: shared
    this.#eui64().copy(data, 120);
    data.writeUInt8(Math.log2(LBA_BYTES), 130); // LBAF 0
  }

  #eui64(): Buffer {
    return Buffer.from(this.serial.padEnd(8, '0').slice(0, 8), 'ascii');
  }

  #logPage({ cdw10, sqe }: Submission): Outcome {
    const LOG = { errors: 1, health: 2, firmware: 3, sanitize: 0x81 } as const;
    const dwords = (cdw10 >>> 16) + (sqe.readUInt16LE(44) << 16) + 1;
    const data = Buffer.alloc(dwords * 4);
    switch (cdw10 & 0xff) {
      case LOG.sanitize:
        this.#sanitizeStatus().copy(data);
        return { data };
      case LOG.errors:
      case LOG.health:
      case LOG.firmware:
        return { data };
      default:
        return nvmeError(NvmeStatus.invalidLogPage);
    }
  }

  /** Figure 204. */
  #sanitizeStatus(): Buffer {
    const { state, cdw10 } = this.#sanitize;
    const log = Buffer.alloc(512);
    log.writeUInt16LE(state === 'running' ? Math.round(this.progress * 65536) : 0xffff, 0);
    log.writeUInt16LE({ never: 0, done: 1, running: 2, failed: 3 }[state], 2);
    log.writeUInt32LE(cdw10, 4);
    return log;
  }

  #startSanitize({ opcode, cdw10 }: Submission): Outcome {
    this.erasures.push({ opcode, cdw10 });
    const kind = SANITIZE_ACTIONS[cdw10 & 7];
    if (kind === undefined || !this.sanitizes.has(kind)) return nvmeError(NvmeStatus.invalidField);
    if (this.isSanitizing) return nvmeError(NvmeStatus.sanitizeInProgress);
    this.progress = 0;
    this.#sanitize = { state: 'running', kind, cdw10 };
    if (this.sanitizeEnds !== 'held') this.finishSanitize(this.sanitizeEnds);
    return {};
  }

  async #format({ opcode, cdw10 }: Submission): Promise<Outcome> {
    this.erasures.push({ opcode, cdw10 });
    if (!this.canFormat) return nvmeError(NvmeStatus.invalidOpcode);
    if (this.isSanitizing) return nvmeError(NvmeStatus.sanitizeInProgress);
    if (this.holdsFormat) {
      await new Promise<void>((resolve) => {
        this.#heldFormat = resolve;
      });
    }
    const secureErase = (cdw10 >>> 9) & 7;
    if (secureErase === 1) this.memory.zero();
    if (secureErase === 2) this.memory.scramble();
    return {};
  }
}
