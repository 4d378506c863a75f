import type { Undo } from './filters.ts';

const CALL = 0xe8;
const JUMP = 0xe9;
/** The opcode and its operand of four bytes. */
const INSTRUCTION = 5;
/** The highest byte of an operand that points to somewhere near. */
const isNear = (byte: number) => byte === 0x00 || byte === 0xff;

/**
 * The x86 filter (xz-file-format 5.3.2, which leaves it to the reference): the operands of CALL and JMP, distances in the program, were made
 * addresses, so that calls of one function look the same. Bytes that only look like such an instruction must come out as the encoder saw
 * them; so it remembers which of the last bytes looked like one, and takes no operand that might overlap another.
 */
export function undoX86(start: number): Undo {
  /** How many bytes were undone before. */
  let position = start;
  /** Opcodes seen in the last bytes, a bit each, the youngest lowest; four bits higher: and the operand pointed near. */
  let seen = 0;
  /** Where the last opcode was. */
  let lastOpcode = start - INSTRUCTION;

  return (bytes) => {
    let at = 0;
    while (at + INSTRUCTION <= bytes.length) {
      const opcode = bytes[at];
      if (opcode !== CALL && opcode !== JUMP) {
        at += 1;
        continue;
      }
      const since = position + at - lastOpcode;
      lastOpcode = position + at;
      seen = since > INSTRUCTION ? 0 : aged(seen, since);
      const near = isNear(bytes[at + 4] ?? 0);
      if (near && isClear(seen)) {
        writeOperand(bytes, at + 1, distanceOf(operand(bytes, at + 1), position + at + INSTRUCTION, seen));
        at += INSTRUCTION;
        seen = 0;
      } else {
        at += 1;
        seen |= near ? 0x11 : 0x01;
      }
    }
    position += at;
    return at;
  };
}

const aged = (seen: number, by: number) => {
  for (let i = 0; i < by; i += 1) seen = (seen & 0x77) << 1;
  return seen;
};

/** Can an operand that begins here be told apart from those of the opcodes just before it? */
function isClear(seen: number): boolean {
  const earlier = seen >> 1;
  return earlier <= 4 && earlier !== 3;
}

/** By `seen >> 1`: the byte of the operand, from the highest, that the opcode before it would have taken for its own highest. */
const OVERLAP = [0, 1, 2, 2, 3];

/** From an address back to the distance. What would look near to an opcode before it was turned over until it did not. */
function distanceOf(address: number, end: number, seen: number): number {
  for (let source = address; ; ) {
    const distance = (source - end) | 0;
    if (seen === 0) return distance;
    const shift = 24 - (OVERLAP[seen >> 1] ?? 0) * 8;
    if (!isNear((distance >>> shift) & 0xff)) return distance;
    source = distance ^ (2 ** (shift + 8) - 1);
  }
}

const operand = (bytes: Buffer, at: number) => bytes.readInt32LE(at);

/** The highest byte becomes 0 or 255, as the lowest of its bits says. */
function writeOperand(bytes: Buffer, at: number, distance: number): void {
  bytes.writeInt32LE((distance << 7) >> 7, at);
}
