import type { AtaDrive } from './ata-drive.ts';

const SECTOR = 512;

export interface ScsiOutcome {
  data?: Buffer;
  /** With CHECK CONDITION. */
  sense?: Buffer;
}

/** SBC-3 and SPC-4 operation codes that Linux and QEMU use. */
const Op = {
  testUnitReady: 0x00,
  inquiry: 0x12,
  modeSense6: 0x1a,
  startStop: 0x1b,
  readCapacity10: 0x25,
  read10: 0x28,
  write10: 0x2a,
  synchronize10: 0x35,
  ataPassThrough16: 0x85,
  read16: 0x88,
  write16: 0x8a,
  synchronize16: 0x91,
  serviceActionIn16: 0x9e,
  reportLuns: 0xa0,
  ataPassThrough12: 0xa1,
} as const;

const KEY = { illegalRequest: 5, dataProtect: 7 } as const;

/** A SATA disk behind a SCSI bus (SAT-3): what a SAS controller does with one, and hdparm's way to it. */
export async function executeScsi(drive: AtaDrive, cdb: Buffer, out: Buffer): Promise<ScsiOutcome> {
  const op = cdb.readUInt8(0);
  const is16 = op === Op.read16 || op === Op.write16;
  const offset = (is16 ? Number(cdb.readBigUInt64BE(2)) : cdb.readUInt32BE(2)) * SECTOR;
  const length = (is16 ? cdb.readUInt32BE(10) : cdb.readUInt16BE(7)) * SECTOR;
  switch (op) {
    case Op.testUnitReady:
    case Op.startStop:
    case Op.synchronize10:
    case Op.synchronize16:
      return {};
    case Op.inquiry:
      return inquiry(drive, cdb);
    case Op.modeSense6:
      return { data: Buffer.from([3, 0, 0, 0]) }; // no pages, not write-protected
    case Op.reportLuns:
      return { data: Buffer.concat([Buffer.from([0, 0, 0, 8]), Buffer.alloc(12)]) };
    case Op.readCapacity10:
      return { data: capacity(drive, 8) };
    case Op.serviceActionIn16:
      return (cdb.readUInt8(1) & 0x1f) === 0x10 ? { data: capacity(drive, 32) } : refuse(0x24);
    case Op.read10:
    case Op.read16:
      if (drive.isLocked) return { sense: sense(KEY.dataProtect, 0x20, 2) };
      return offset + length > drive.memory.sizeBytes
        ? refuse(0x21)
        : { data: drive.memory.read(offset, length) };
    case Op.write10:
    case Op.write16:
      if (drive.isLocked) return { sense: sense(KEY.dataProtect, 0x20, 2) };
      if (offset + length > drive.memory.sizeBytes) return refuse(0x21);
      drive.memory.write(offset, out);
      return {};
    case Op.ataPassThrough12:
      return await passThrough(drive, cdb.readUInt8(9), cdb, out);
    case Op.ataPassThrough16:
      return await passThrough(drive, cdb.readUInt8(14), cdb, out);
    default:
      return refuse(0x20);
  }
}

async function passThrough(drive: AtaDrive, command: number, cdb: Buffer, out: Buffer): Promise<ScsiOutcome> {
  const wantsRegisters = (cdb.readUInt8(2) & 0x20) !== 0; // CK_COND
  const outcome = await drive.execute(command, out);
  if (outcome === 'aborted') return { sense: ataReturn(0x51, 0x04) };
  return { ...outcome, ...(wantsRegisters ? { sense: ataReturn(0x50, 0) } : {}) };
}

/** SAT-3, table 129: the registers as a descriptor of the sense data, also where nothing went wrong. */
function ataReturn(status: number, error: number): Buffer {
  const bytes = Buffer.alloc(22);
  bytes.set([0x72, error ? 0x0b : 0x01, 0, error ? 0 : 0x1d, 0, 0, 0, 14]);
  bytes.set([0x09, 12, 0, error], 8);
  bytes.writeUInt8(status, 21);
  return bytes;
}

function inquiry(drive: AtaDrive, cdb: Buffer): ScsiOutcome {
  const pages: Record<number, () => Buffer> = {
    0: () => Buffer.from([0, 0x80, 0x83]),
    128: () => Buffer.from(drive.serial.padEnd(20), 'ascii'),
    // T10 vendor identification: no world-wide name, as cheap disks.
    131: () => {
      const name = Buffer.from(`ATA     ${drive.serial}`, 'ascii');
      return Buffer.concat([Buffer.from([2, 1, 0, name.length]), name]);
    },
  };
  if ((cdb.readUInt8(1) & 1) === 0) {
    const data = Buffer.alloc(36);
    data.set([0, 0, 6, 2, 31]);
    data.write('ATA     Kindling disk   1   ', 8, 'ascii');
    return { data };
  }
  const code = cdb.readUInt8(2);
  const page = pages[code]?.();
  return page ? { data: Buffer.concat([Buffer.from([0, code, 0, page.length]), page]) } : refuse(0x24);
}

function capacity(drive: AtaDrive, bytes: 8 | 32): Buffer {
  const data = Buffer.alloc(bytes);
  const last = drive.memory.sizeBytes / SECTOR - 1;
  if (bytes === 8) data.writeUInt32BE(last, 0);
  else data.writeBigUInt64BE(BigInt(last), 0);
  data.writeUInt32BE(SECTOR, bytes === 8 ? 4 : 8);
  return data;
}

const refuse = (code: number): ScsiOutcome => ({ sense: sense(KEY.illegalRequest, code, 0) });

function sense(key: number, code: number, qualifier: number): Buffer {
  const bytes = Buffer.alloc(18);
  bytes.writeUInt8(0x70, 0);
  bytes.writeUInt8(key, 2);
  bytes.writeUInt8(10, 7);
  bytes.writeUInt8(code, 12);
  bytes.writeUInt8(qualifier, 13);
  return bytes;
}
