import { encodeTftpPacket, type TftpPacket } from '../../protocol/tftp/packet.ts';

/** What a transfer does next: packets to send, and whether it is over. */
export interface TransferStep {
  send: Buffer[];
  outcome?: 'complete' | 'aborted' | 'timed-out';
}

interface Negotiated {
  blockBytes: number;
  windowBlocks: number;
  timeoutMs: number;
}

const DEFAULT_BLOCK_BYTES = 512;
const SMALLEST_BLOCK_BYTES = 8; // RFC 2348
const LARGEST_BLOCK_BYTES = 65464;
const LARGEST_WINDOW_BLOCKS = 64; // enough to fill a gigabit link with 1 ms delay; more only bursts
const DEFAULT_TIMEOUT_MS = 1000;
/** A longer time-out that a client asks for is not agreed to: it would hold a socket for minutes. */
const LONGEST_TIMEOUT_SECONDS = 10;
const TRIES = 6;
/** Until a client has answered, its address may be somebody else's: the flood that person gets for it stays small. */
export const TRIES_BEFORE_ANSWER = 2;

/**
 * One file on its way to one client (RFC 1350, 2347–2349, 7440), as a state machine without sockets or clocks:
 * the server feeds it packets and time-outs and sends what it answers.
 */
export class TftpTransfer {
  readonly timeoutMs: number;
  readonly content: Buffer;
  readonly #blockBytes: number;
  readonly #windowBlocks: number;
  readonly #lastBlock: number;
  readonly #optionAck: Buffer | undefined;
  /** Counts from 0 without wrapping; only its low 16 bits go on the wire. */
  #acknowledged: number;
  #tries = 0;
  #isAnswered = false;
  #resentAfter: number | undefined;

  constructor(content: Buffer, request: ReadonlyMap<string, string>, largestBlockBytes: number) {
    const accepted = new Map<string, string>();
    const negotiated = negotiate(request, content.length, largestBlockBytes, accepted);
    this.content = content;
    this.timeoutMs = negotiated.timeoutMs;
    this.#blockBytes = negotiated.blockBytes;
    this.#windowBlocks = negotiated.windowBlocks;
    // A file that is a multiple of the block size ends with an empty block.
    this.#lastBlock = Math.floor(content.length / this.#blockBytes) + 1;
    this.#optionAck =
      accepted.size > 0 ? encodeTftpPacket({ type: 'option-ack', options: accepted }) : undefined;
    // With options the client acknowledges block 0 first; without them data follows at once.
    this.#acknowledged = this.#optionAck ? -1 : 0;
  }

  /** Whether the client has acknowledged anything: its address is really its own. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  start(): TransferStep {
    return { send: this.#optionAck ? [this.#optionAck] : this.#window() };
  }

  receive(packet: TftpPacket): TransferStep {
    if (packet.type === 'error') return { send: [], outcome: 'aborted' };
    if (packet.type !== 'ack') return { send: [] };
    const block = this.#unwrap(packet.block);
    if (block !== undefined && this.#asksForWindowAgain(block)) return { send: this.#window() };
    // An old acknowledgment must not start a second stream of the same blocks (RFC 1123 4.2.3.1).
    if (block === undefined || block <= this.#acknowledged) return { send: [] };
    this.#acknowledged = block;
    this.#isAnswered = true;
    this.#tries = 0;
    if (block >= this.#lastBlock) return { send: [], outcome: 'complete' };
    return { send: this.#window() };
  }

  timeOut(): TransferStep {
    this.#tries += 1;
    if (this.#tries >= (this.#isAnswered ? TRIES : TRIES_BEFORE_ANSWER))
      return { send: [], outcome: 'timed-out' };
    if (this.#acknowledged < 0 && this.#optionAck) return { send: [this.#optionAck] };
    return { send: this.#window() };
  }

  /** A client that missed the first block of a window repeats its last acknowledgment (RFC 7440 4): once is enough. */
  #asksForWindowAgain(block: number): boolean {
    const isRepeat = this.#windowBlocks > 1 && block === this.#acknowledged && this.#resentAfter !== block;
    if (isRepeat) this.#resentAfter = block;
    return isRepeat;
  }

  #window(): Buffer[] {
    const first = Math.max(this.#acknowledged, 0) + 1;
    const last = Math.min(first + this.#windowBlocks - 1, this.#lastBlock);
    return Array.from({ length: last - first + 1 }, (_, index) => this.#block(first + index));
  }

  #block(block: number): Buffer {
    const start = (block - 1) * this.#blockBytes;
    const data = this.content.subarray(start, start + this.#blockBytes);
    return encodeTftpPacket({ type: 'data', block: block & 0xffff, data });
  }

  /** Block numbers wrap at 65,536; an acknowledgment can only be for a block of the window that is out. */
  #unwrap(wire: number): number | undefined {
    const from = Math.max(this.#acknowledged, 0);
    const ahead = (wire - (from & 0xffff) + 0x10000) & 0xffff;
    return ahead <= this.#windowBlocks ? from + ahead : undefined;
  }
}

/** Takes the options we know, within our limits, and drops the others silently as RFC 2347 asks. */
function negotiate(
  request: ReadonlyMap<string, string>,
  contentBytes: number,
  largestBlockBytes: number,
  accepted: Map<string, string>,
): Negotiated {
  const negotiated: Negotiated = {
    blockBytes: DEFAULT_BLOCK_BYTES,
    windowBlocks: 1,
    timeoutMs: DEFAULT_TIMEOUT_MS,
  };
  const blockBytes = integerOption(request, 'blksize', SMALLEST_BLOCK_BYTES, LARGEST_BLOCK_BYTES);
  if (blockBytes !== undefined) {
    negotiated.blockBytes = Math.min(blockBytes, largestBlockBytes);
    accepted.set('blksize', String(negotiated.blockBytes));
  }
  const timeoutSeconds = integerOption(request, 'timeout', 1, LONGEST_TIMEOUT_SECONDS);
  if (timeoutSeconds !== undefined) {
    negotiated.timeoutMs = timeoutSeconds * 1000;
    accepted.set('timeout', String(timeoutSeconds));
  }
  const windowBlocks = integerOption(request, 'windowsize', 1, 65535);
  if (windowBlocks !== undefined) {
    negotiated.windowBlocks = Math.min(windowBlocks, LARGEST_WINDOW_BLOCKS);
    accepted.set('windowsize', String(negotiated.windowBlocks));
  }
  if (request.has('tsize')) accepted.set('tsize', String(contentBytes));
  return negotiated;
}

function integerOption(
  request: ReadonlyMap<string, string>,
  name: string,
  least: number,
  most: number,
): number | undefined {
  const text = request.get(name);
  if (text === undefined || !/^\d{1,6}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= least && value <= most ? value : undefined;
}
