import { KindlingError } from '../../../protocol/error.ts';
import type { BlockOutput } from '../stream/block-output.ts';
import type { RingReader } from '../stream/ring.ts';
import { type Decoder, INPUT_PIECE } from './decoder.ts';
import { type Extent, Qcow2Extents } from './qcow2-extents.ts';
import type { Qcow2Map } from './qcow2-map.ts';
import { createUnpackCluster } from './unpack-cluster.ts';

const MAX_CLUSTER_BYTES = 2 * 1024 * 1024;
/** No compressed cluster is longer than this in the file. */
const WINDOW_BYTES = 8 * 1024 * 1024;

/** Streams a qcow2 file from front to back: each cluster goes to its place on the disk as it passes by. */
export function qcow2Decoder(map: Qcow2Map): Decoder {
  return async (input, output) => {
    await output.openGate(Buffer.from(map.head));
    const { virtualSize } = map.facts;
    const extents = new Qcow2Extents(map.extents.memory, map.extents.count, map.facts);
    zeroGaps(extents, virtualSize, output);
    const file = new FileWindow(input);
    using unpack = createUnpackCluster(MAX_CLUSTER_BYTES);
    for (const extent of extents.byHost()) {
      if (extent.coding === 'plain') await copyPlain(file, extent, output);
      else await place(output, extent.guest, unpack(file.read(extent), extent.coding), extent.length);
    }
    await output.commit();
    file.drain();
    output.position = virtualSize;
  };
}

/** Everything no cluster covers reads as zeros. */
function zeroGaps(extents: Qcow2Extents, virtualSize: number, output: BlockOutput): void {
  let end = 0;
  for (const { guest, length } of extents.covered()) {
    if (guest > end) output.commitZeros(end, guest - end);
    end = guest + length;
  }
  if (end < virtualSize) output.commitZeros(end, virtualSize - end);
}

async function copyPlain(file: FileWindow, extent: Extent, output: BlockOutput): Promise<void> {
  for (let done = 0; done < extent.length; ) {
    const host = extent.host + done;
    const length = Math.min(INPUT_PIECE, extent.length - done);
    const bytes = file.read({ host, hostLength: length });
    if (bytes.length < length) throw truncated();
    await place(output, extent.guest + done, bytes, length);
    done += length;
  }
}

/** Puts bytes at a place; neighbors share a block, anything else starts a new one. */
async function place(output: BlockOutput, guest: number, bytes: Buffer, length: number): Promise<void> {
  if (bytes.length < length) throw truncated();
  if (output.filled > 0 && output.position + output.filled !== guest) await output.commit();
  if (output.filled === 0) output.position = guest;
  for (let at = 0; at < length; ) {
    const piece = Math.min(length - at, output.block.length - output.filled);
    bytes.copy(output.block, output.filled, at, at + piece);
    output.filled += piece;
    at += piece;
    if (output.filled === output.block.length) await output.commit();
  }
}

/** The part of the file that is in hand: compressed clusters share sectors, so a little is kept behind. */
class FileWindow {
  #input: RingReader;
  #bytes = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  #start = 0;
  #length = 0;

  constructor(input: RingReader) {
    this.#input = input;
  }

  /** The bytes at a place of the file, fewer only at its end; valid until the next call. */
  read({ host, hostLength }: { host: number; hostLength: number }): Buffer {
    if (host < this.#start) {
      throw new KindlingError(
        'KND_IMAGE_UNSUPPORTED',
        'the qcow2 image shares clusters between several places',
      );
    }
    this.#forget(host);
    while (this.#start + this.#length < host + hostLength && this.#take());
    const at = host - this.#start;
    return this.#bytes.subarray(at, Math.max(at, Math.min(at + hostLength, this.#length)));
  }

  drain(): void {
    for (let piece = this.#input.next(INPUT_PIECE); piece; piece = this.#input.next(INPUT_PIECE)) {
      this.#input.consume(piece.length);
    }
  }

  #forget(host: number): void {
    // skip what no cluster needs: tables, free clusters
    while (this.#start + this.#length < host) {
      this.#start += this.#length;
      this.#length = 0;
      const piece = this.#input.next(Math.min(INPUT_PIECE, host - this.#start));
      if (!piece) throw truncated();
      this.#input.consume(piece.length);
      this.#start += piece.length;
    }
    const drop = host - this.#start;
    if (drop > 0 && this.#length + INPUT_PIECE * 3 > WINDOW_BYTES) {
      this.#bytes.copyWithin(0, drop, this.#length);
      this.#start += drop;
      this.#length -= drop;
    }
  }

  #take(): boolean {
    const piece = this.#input.next(Math.min(INPUT_PIECE, WINDOW_BYTES - this.#length));
    if (!piece) return false;
    this.#input.memory.copy(this.#bytes, this.#length, piece.at, piece.at + piece.length);
    this.#length += piece.length;
    this.#input.consume(piece.length);
    return true;
  }
}

const truncated = () =>
  new KindlingError('KND_IMAGE_TRUNCATED', 'the qcow2 image ends before all of its clusters');
