import { KindlingError } from '../error.ts';

/** TFTP packets (RFC 1350 5, RFC 2347 for options). */
export type TftpPacket =
  | { type: 'read' | 'write'; file: string; mode: string; options: Map<string, string> }
  | { type: 'data'; block: number; data: Buffer }
  | { type: 'ack'; block: number }
  | { type: 'error'; code: number; message: string }
  | { type: 'option-ack'; options: Map<string, string> };

const Opcode = { read: 1, write: 2, data: 3, ack: 4, error: 5, optionAck: 6 } as const;

/** Error codes (RFC 1350 appendix; 8 is RFC 2347). */
export const TftpErrorCode = {
  notDefined: 0,
  fileNotFound: 1,
  accessViolation: 2,
  illegalOperation: 4,
  unknownTransfer: 5,
  optionRefused: 8,
} as const;

/** A request longer than this is nobody's file name. */
const MAXIMUM_REQUEST_BYTES = 2048;

/** Reads a packet; anything that is not TFTP throws KND_TFTP_MALFORMED, whatever the bytes are. */
export function decodeTftpPacket(bytes: Buffer): TftpPacket {
  if (bytes.length < 4) throw malformed(`${bytes.length} bytes are too few`);
  const opcode = bytes.readUInt16BE(0);
  switch (opcode) {
    case Opcode.read:
    case Opcode.write:
      return decodeRequest(opcode === Opcode.read ? 'read' : 'write', bytes);
    case Opcode.data:
      return { type: 'data', block: bytes.readUInt16BE(2), data: bytes.subarray(4) };
    case Opcode.ack:
      return { type: 'ack', block: bytes.readUInt16BE(2) };
    case Opcode.error: {
      const [message = ''] = zeroTerminated(bytes.subarray(4));
      return { type: 'error', code: bytes.readUInt16BE(2), message };
    }
    case Opcode.optionAck:
      return { type: 'option-ack', options: pairs(zeroTerminated(bytes.subarray(2))) };
    default:
      throw malformed(`operation ${opcode} does not exist`);
  }
}

export function encodeTftpPacket(packet: TftpPacket): Buffer {
  switch (packet.type) {
    case 'read':
    case 'write': {
      const words = [packet.file, packet.mode, ...[...packet.options].flat()];
      return Buffer.concat([word(packet.type === 'read' ? Opcode.read : Opcode.write), ...words.map(text)]);
    }
    case 'data':
      return Buffer.concat([word(Opcode.data), word(packet.block), packet.data]);
    case 'ack':
      return Buffer.concat([word(Opcode.ack), word(packet.block)]);
    case 'error':
      return Buffer.concat([word(Opcode.error), word(packet.code), text(packet.message)]);
    case 'option-ack':
      return Buffer.concat([word(Opcode.optionAck), ...[...packet.options].flat().map(text)]);
  }
}

function decodeRequest(type: 'read' | 'write', bytes: Buffer): TftpPacket {
  if (bytes.length > MAXIMUM_REQUEST_BYTES) throw malformed(`a request of ${bytes.length} bytes`);
  const [file, mode, ...rest] = zeroTerminated(bytes.subarray(2));
  if (!file || !mode) throw malformed('a request without file name or mode');
  return { type, file, mode: mode.toLowerCase(), options: pairs(rest) };
}

/** Option names are case-insensitive (RFC 2347). */
function pairs(words: string[]): Map<string, string> {
  const options = new Map<string, string>();
  for (let at = 0; at + 1 < words.length; at += 2) {
    const [name = '', value = ''] = words.slice(at, at + 2);
    options.set(name.toLowerCase(), value);
  }
  return options;
}

function zeroTerminated(bytes: Buffer): string[] {
  const words: string[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, start)) {
    words.push(bytes.toString('latin1', start, end));
    start = end + 1;
  }
  return words;
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from(value, 'latin1'), Buffer.of(0)]);
}

function malformed(why: string): KindlingError {
  return new KindlingError('KND_TFTP_MALFORMED', `not a TFTP packet: ${why}`);
}
