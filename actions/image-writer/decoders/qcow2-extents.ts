import { KindlingError } from '../../../protocol/error.ts';

export type Coding = 'plain' | 'deflate' | 'zstd';

export interface Extent {
  /** Where it lies in the file, and how many bytes there (for compressed ones an upper bound). */
  host: number;
  hostLength: number;
  /** Where it belongs on the disk, and how many bytes there. */
  guest: number;
  length: number;
  coding: Coding;
}

/** What all extents have in common. */
export interface ExtentFacts {
  clusterSize: number;
  virtualSize: number;
  /** How compressed clusters are compressed. */
  coding: 'deflate' | 'zstd';
}

/** In one number, for sorting: the place in the file above, the number of the extent below. */
const INDEX_BITS = 23n;
const MAX_HOST = 2 ** 41;
/** 16 bytes each: 128 MiB. Half a TiB in clusters of 64 KiB, of which no two are neighbors or all are compressed. */
export const MAX_EXTENTS = 2 ** Number(INDEX_BITS);
/** Set in the length of a compressed extent. */
const IS_COMPRESSED = 2 ** 31;

/**
 * The extents of a qcow2 file, in the order of the disk and in that of the file: a table in shared memory, because an object for each would
 * take more than a node has. Pages of it that nothing is noted in take no memory.
 */
export class Qcow2Extents {
  readonly facts: ExtentFacts;
  /** Shared with the thread that decodes. */
  readonly memory: SharedArrayBuffer;
  count: number;
  readonly #keys: BigUint64Array;
  readonly #guests: Uint32Array;
  readonly #lengths: Uint32Array;

  /** Room for this many; more than `MAX_EXTENTS` is refused when they come. */
  static forAtMost(extents: number, facts: ExtentFacts): Qcow2Extents {
    return new Qcow2Extents(new SharedArrayBuffer(Math.min(extents, MAX_EXTENTS) * 16), 0, facts);
  }

  constructor(memory: SharedArrayBuffer, count: number, facts: ExtentFacts) {
    this.facts = facts;
    this.memory = memory;
    this.count = count;
    const capacity = memory.byteLength / 16;
    this.#keys = new BigUint64Array(memory, 0, capacity);
    this.#guests = new Uint32Array(memory, capacity * 8, capacity);
    this.#lengths = new Uint32Array(memory, capacity * 12, capacity);
  }

  /** A cluster that is stored as it is; clusters come in the order of the disk. One that continues the last becomes part of it. */
  addPlain(guestCluster: number, host: number): void {
    const last = this.count - 1;
    const length = this.#lengths[last] ?? 0;
    const isNext =
      last >= 0 &&
      length < IS_COMPRESSED - 1 &&
      (this.#guests[last] ?? 0) + length === guestCluster &&
      this.#hostOf(last) + length * this.facts.clusterSize === host;
    if (isNext) this.#lengths[last] = length + 1;
    else this.#add(guestCluster, host, 1);
  }

  addCompressed(guestCluster: number, host: number, hostLength: number): void {
    this.#add(guestCluster, host, IS_COMPRESSED + hostLength);
  }

  /** In the order of the disk; valid until they are sorted. */
  *byGuest(): Generator<Extent> {
    for (let index = 0; index < this.count; index += 1) yield this.#extent(index, this.#hostOf(index));
  }

  /** Runs of the disk that have extents, in its order, also when they are sorted. */
  *covered(): Generator<{ guest: number; length: number }> {
    for (let index = 0; index < this.count; index += 1) yield this.#extent(index, 0);
  }

  sortByHost(): void {
    this.#keys.subarray(0, this.count).sort();
  }

  /** In the order of the file. */
  *byHost(): Generator<Extent> {
    for (let rank = 0; rank < this.count; rank += 1) {
      const key = this.#keys[rank] ?? 0n;
      yield this.#extent(Number(BigInt.asUintN(Number(INDEX_BITS), key)), Number(key >> INDEX_BITS));
    }
  }

  #add(guestCluster: number, host: number, length: number): void {
    if (this.count >= this.#guests.length) throw tooScattered();
    if (host >= MAX_HOST) {
      throw new KindlingError('KND_IMAGE_CORRUPT', `a cluster of the qcow2 image lies at byte ${host}`);
    }
    this.#keys[this.count] = (BigInt(host) << INDEX_BITS) | BigInt(this.count);
    this.#guests[this.count] = guestCluster;
    this.#lengths[this.count] = length;
    this.count += 1;
  }

  #hostOf(index: number): number {
    return Number((this.#keys[index] ?? 0n) >> INDEX_BITS);
  }

  #extent(index: number, host: number): Extent {
    const { clusterSize, virtualSize, coding } = this.facts;
    const guest = (this.#guests[index] ?? 0) * clusterSize;
    const noted = this.#lengths[index] ?? 0;
    const isCompressed = noted >= IS_COMPRESSED;
    const length = Math.min(isCompressed ? clusterSize : noted * clusterSize, virtualSize - guest);
    const hostLength = isCompressed ? noted - IS_COMPRESSED : length;
    return { host, hostLength, guest, length, coding: isCompressed ? coding : 'plain' };
  }
}

const tooScattered = () =>
  new KindlingError(
    'KND_IMAGE_UNSUPPORTED',
    `the qcow2 image is in more than ${MAX_EXTENTS} pieces, too many for the memory of a node`,
    {
      hint: 'Publish it as a chunked image, or as a raw image compressed with zstd (qemu-img convert -O raw).',
    },
  );
