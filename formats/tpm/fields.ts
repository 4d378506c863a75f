import { KindlingError } from '../../protocol/error.ts';

/** Numbers in the byte order of the TPM: the highest byte first (Part 1, 5.5). */
export function u8(value: number): Buffer {
  return Buffer.of(value);
}

export function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

/** A TPM2B: two bytes of length, then the contents (Part 2, 10.4). */
export function sized(contents: Uint8Array = Buffer.alloc(0)): Buffer {
  return Buffer.concat([u16(contents.length), contents]);
}

/** Reads one field after the other. Whatever is not there, or is left over, is told with the name of the structure. */
export class FieldReader {
  readonly #bytes: Buffer;
  readonly #structure: string;
  #at = 0;

  constructor(bytes: Uint8Array, structure: string) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#structure = structure;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw this.fault('ends too early');
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }

  u8(): number {
    return this.take(1).readUInt8();
  }

  u16(): number {
    return this.take(2).readUInt16BE();
  }

  u32(): number {
    return this.take(4).readUInt32BE();
  }

  u64(): bigint {
    return this.take(8).readBigUInt64BE();
  }

  u16le(): number {
    return this.take(2).readUInt16LE();
  }

  u32le(): number {
    return this.take(4).readUInt32LE();
  }

  sized(): Buffer {
    return this.take(this.u16());
  }

  /** Everything that is left. */
  rest(): Buffer {
    return this.take(this.#bytes.length - this.#at);
  }

  /** The structure ends here: what stands behind it belongs to nobody. */
  end(): void {
    if (!this.isAtEnd) throw this.fault('has bytes behind its end');
  }

  fault(what: string): KindlingError {
    return new KindlingError('KND_TPM_MALFORMED', `${this.#structure} ${what}`);
  }
}
