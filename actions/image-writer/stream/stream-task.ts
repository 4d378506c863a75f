import type { ErrorReport } from '../../../protocol/error.ts';
import type { Decoding } from '../decoders/choose-decoder.ts';
import type { Target } from '../target/target.ts';
import type { BlockHash } from './block-output.ts';
import type { RingMemory } from './ring.ts';

/** What the stream worker is started with. */
export interface StreamTask {
  ring: RingMemory;
  target: Omit<Target, 'close'>;
  decoding: Decoding;
  targetIsZero: boolean;
  wantsRawHash: boolean;
  hashEvery: number;
}

/** The answer to a head: write, and withhold everything from this byte on. */
export interface GateAnswer {
  withholdFrom: number;
}

export interface StreamResult {
  kind: 'done';
  head: Uint8Array;
  tail: Uint8Array;
  rawSha256: string | undefined;
  blockHashes: BlockHash[];
  rawLength: number;
}

export type StreamWorkerMessage =
  | { kind: 'head'; head: Uint8Array }
  | StreamResult
  | { kind: 'failed'; error: ErrorReport };
