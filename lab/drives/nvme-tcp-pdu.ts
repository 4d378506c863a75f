/** NVMe/TCP transport specification 1.0, section 3.6: protocol data units. */
export const PduType = {
  initializeRequest: 0x00,
  initializeResponse: 0x01,
  command: 0x04,
  response: 0x05,
  hostData: 0x06,
  controllerData: 0x07,
  readyToTransfer: 0x09,
} as const;

const HEADER_BYTES = 8;
/** PDUs that carry data, or ask for it, have 16 bytes about it after the common header. */
const DATA_HEADER_BYTES = 24;
const LAST_DATA = 0x04;

export interface Pdu {
  type: number;
  /** Everything up to the data, the common header included. */
  header: Buffer;
  data: Buffer;
}

/** Cuts a stream into PDUs; gives what is complete and keeps the rest. */
export class PduReader {
  #pending = Buffer.alloc(0);

  push(chunk: Buffer): Pdu[] {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    const pdus: Pdu[] = [];
    while (this.#pending.length >= HEADER_BYTES) {
      const length = this.#pending.readUInt32LE(4);
      if (length < HEADER_BYTES) throw new Error(`a PDU of ${length} bytes`);
      if (this.#pending.length < length) break;
      const pdu = this.#pending.subarray(0, length);
      const headerBytes = pdu.readUInt8(2);
      pdus.push({
        type: pdu.readUInt8(0),
        header: pdu.subarray(0, headerBytes),
        data: pdu.subarray(pdu.readUInt8(3) || headerBytes),
      });
      this.#pending = this.#pending.subarray(length);
    }
    return pdus;
  }
}

export function initializeResponse(maximumHostData: number): Buffer {
  const pdu = emptyPdu(PduType.initializeResponse, 128);
  pdu.writeUInt32LE(maximumHostData, 12); // no digests, no padding, PDU format 0
  return pdu;
}

export function responseCapsule(completion: Buffer): Buffer {
  const pdu = emptyPdu(PduType.response, HEADER_BYTES + completion.length);
  completion.copy(pdu, HEADER_BYTES);
  return pdu;
}

export function readyToTransfer(commandId: number, tag: number, length: number): Buffer {
  const pdu = emptyPdu(PduType.readyToTransfer, DATA_HEADER_BYTES);
  pdu.writeUInt16LE(commandId, 8);
  pdu.writeUInt16LE(tag, 10);
  pdu.writeUInt32LE(length, 16);
  return pdu;
}

export function controllerData(commandId: number, data: Buffer): Buffer {
  const header = emptyPdu(PduType.controllerData, DATA_HEADER_BYTES, data.length);
  header.writeUInt8(LAST_DATA, 1);
  header.writeUInt8(DATA_HEADER_BYTES, 3);
  header.writeUInt16LE(commandId, 8);
  header.writeUInt32LE(data.length, 16);
  return Buffer.concat([header, data]);
}

/** Where data of the host belongs: H2CData. */
export function decodeHostData(header: Buffer): { tag: number; offset: number } {
  return { tag: header.readUInt16LE(10), offset: header.readUInt32LE(12) };
}

function emptyPdu(type: number, headerBytes: number, dataBytes = 0): Buffer {
  const pdu = Buffer.alloc(headerBytes);
  pdu.writeUInt8(type, 0);
  pdu.writeUInt8(headerBytes, 2);
  pdu.writeUInt32LE(headerBytes + dataBytes, 4);
  return pdu;
}
