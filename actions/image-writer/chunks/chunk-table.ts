import { type Chunk, chunkCount, chunkLength, type ImageManifest } from '../../../formats/image-manifest.ts';

/** What is to be done with a chunk, and whether it has been; one shared byte each. */
export const STATE = {
  /** Fetch it. */
  fetch: 0,
  /** Look at the disk first; fetch it if it differs. */
  check: 1,
  /** It reads as zeros on a finished disk. */
  zero: 2,
  checkZero: 3,
  /** Verified and written (not yet synced). */
  done: 4,
  /** On its way from the origin: neighbors need not fetch it too. */
  coming: 5,
} as const;

/** The part of a manifest that the threads share, without copies. */
export interface ChunkTableMemory {
  size: number;
  chunkSize: number;
  /** Bytes of the file the frames lie in. */
  blobSize: number;
  /** Per chunk: offset and length of its frame. */
  places: SharedArrayBuffer;
  /** Per chunk: 32 bytes hash of the frame, 32 bytes hash of the raw chunk. */
  hashes: SharedArrayBuffer;
  states: SharedArrayBuffer;
}

export class ChunkTable {
  readonly memory: ChunkTableMemory;
  readonly count: number;
  readonly states: Uint8Array;
  readonly #places: Float64Array;
  readonly #hashes: Buffer;

  constructor(memory: ChunkTableMemory) {
    this.memory = memory;
    this.count = chunkCount(memory);
    this.states = new Uint8Array(memory.states);
    this.#places = new Float64Array(memory.places);
    this.#hashes = Buffer.from(memory.hashes);
  }

  static fromManifest(manifest: ImageManifest): ChunkTable {
    const count = chunkCount(manifest);
    const table = new ChunkTable({
      size: manifest.size,
      chunkSize: manifest.chunkSize,
      blobSize: manifest.blobSize,
      places: new SharedArrayBuffer(count * 16),
      hashes: new SharedArrayBuffer(count * 64),
      states: new SharedArrayBuffer(count),
    });
    table.states.fill(STATE.zero);
    for (const chunk of manifest.chunks) table.#set(chunk);
    return table;
  }

  #set(chunk: Chunk): void {
    const { index } = chunk;
    this.#places[index * 2] = chunk.offset;
    this.#places[index * 2 + 1] = chunk.length;
    this.#hashes.write(chunk.storedSha256, index * 64, 'hex');
    this.#hashes.write(chunk.rawSha256, index * 64 + 32, 'hex');
    this.states[index] = STATE.fetch;
  }

  /** Zero chunks have no frame that anybody needs. */
  isZero(index: number): boolean {
    return this.frameLength(index) === 0;
  }

  rawPosition(index: number): number {
    return index * this.memory.chunkSize;
  }

  rawLength(index: number): number {
    return chunkLength(this.memory, index);
  }

  frameOffset(index: number): number {
    return this.#places[index * 2] ?? 0;
  }

  frameLength(index: number): number {
    return this.#places[index * 2 + 1] ?? 0;
  }

  storedHash(index: number): Buffer {
    return this.#hashes.subarray(index * 64, index * 64 + 32);
  }

  rawHash(index: number): Buffer {
    return this.#hashes.subarray(index * 64 + 32, index * 64 + 64);
  }

  get longestFrame(): number {
    let longest = 0;
    for (let i = 0; i < this.count; i += 1) longest = Math.max(longest, this.frameLength(i));
    return longest;
  }
}
