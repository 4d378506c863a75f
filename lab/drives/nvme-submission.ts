/** One entry of a submission queue (64 bytes), with the fields every command has. */
export interface Submission {
  opcode: number;
  commandId: number;
  nsid: number;
  cdw10: number;
  sqe: Buffer;
}

/** What a command came to: its status, two dwords of the completion, and data for the host. */
export interface Outcome {
  status?: number;
  result?: bigint;
  data?: Buffer;
}

const DO_NOT_RETRY = 0x4000;

/** NVM Express base specification 1.4, figures 126 and 127: status code type and status code. */
export const NvmeStatus = {
  invalidOpcode: 0x001,
  invalidField: 0x002,
  sanitizeFailed: 0x01c,
  sanitizeInProgress: 0x01d,
  lbaOutOfRange: 0x080,
  invalidLogPage: 0x109,
  connectInvalidParameters: 0x182,
} as const;

export function nvmeError(status: number): Outcome {
  return { status: status | DO_NOT_RETRY };
}

export function decodeSubmission(sqe: Buffer): Submission {
  return {
    opcode: sqe.readUInt8(0),
    commandId: sqe.readUInt16LE(2),
    nsid: sqe.readUInt32LE(4),
    cdw10: sqe.readUInt32LE(40),
    sqe,
  };
}

/** A completion queue entry (16 bytes). */
export function encodeCompletion(
  commandId: number,
  queue: { id: number; head: number },
  outcome: Outcome,
): Buffer {
  const cqe = Buffer.alloc(16);
  cqe.writeBigUInt64LE(outcome.result ?? 0n, 0);
  cqe.writeUInt16LE(queue.head, 8);
  cqe.writeUInt16LE(queue.id, 10);
  cqe.writeUInt16LE(commandId, 12);
  cqe.writeUInt16LE((outcome.status ?? 0) << 1, 14); // bit 0 is the phase, which fabrics do not use
  return cqe;
}
