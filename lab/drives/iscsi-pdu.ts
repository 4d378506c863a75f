/** RFC 7143, section 11: a PDU is a header of 48 bytes and data, padded to four. */
const HEADER_BYTES = 48;

export const Request = {
  nop: 0x00,
  scsiCommand: 0x01,
  taskManagement: 0x02,
  login: 0x03,
  dataOut: 0x05,
  logout: 0x06,
} as const;

export const Response = {
  nop: 0x20,
  scsi: 0x21,
  taskManagement: 0x22,
  login: 0x23,
  dataIn: 0x25,
  logout: 0x26,
  readyToTransfer: 0x31,
} as const;

export interface IscsiPdu {
  opcode: number;
  /** Outside the order of commands. */
  isImmediate: boolean;
  header: Buffer;
  data: Buffer;
}

export class IscsiReader {
  #pending = Buffer.alloc(0);

  push(chunk: Buffer): IscsiPdu[] {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    const pdus: IscsiPdu[] = [];
    while (this.#pending.length >= HEADER_BYTES) {
      const start = HEADER_BYTES + this.#pending.readUInt8(4) * 4;
      const length = this.#pending.readUIntBE(5, 3);
      const end = start + Math.ceil(length / 4) * 4;
      if (this.#pending.length < end) break;
      const first = this.#pending.readUInt8(0);
      pdus.push({
        opcode: first & 0x3f,
        isImmediate: (first & 0x40) !== 0,
        header: this.#pending.subarray(0, HEADER_BYTES),
        data: this.#pending.subarray(start, start + length),
      });
      this.#pending = this.#pending.subarray(end);
    }
    return pdus;
  }
}

/** A response: `fields` are 32-bit words by their offset. */
export function encodeIscsi(
  opcode: number,
  flags: number,
  fields: Record<number, number>,
  data: Buffer = Buffer.alloc(0),
): Buffer {
  const pdu = Buffer.alloc(HEADER_BYTES + Math.ceil(data.length / 4) * 4);
  pdu.writeUInt8(opcode, 0);
  pdu.writeUInt8(flags, 1);
  for (const [offset, value] of Object.entries(fields)) pdu.writeUInt32BE(value >>> 0, Number(offset));
  pdu.writeUIntBE(data.length, 5, 3);
  data.copy(pdu, HEADER_BYTES);
  return pdu;
}
