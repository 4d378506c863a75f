import type { ErrorReport } from '../../../protocol/error.ts';
import type { Decoding } from '../decoders/choose-decoder.ts';
import type { Target } from '../target/target.ts';
import type { WithheldMemory } from '../target/withheld.ts';
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

/** The answer to a head: write, but for this. */
export interface GateAnswer {
  withheld: WithheldMemory;
}

export interface StreamResult {
  rawSha256: string | undefined;
  blockHashes: BlockHash[];
  rawLength: number;
}

export type StreamWorkerMessage =
  | { kind: 'head'; head: Uint8Array }
  | ({ kind: 'done' } & StreamResult)
  | { kind: 'failed'; error: ErrorReport };
