import type { Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { nodeCrypto } from '../../../../system/crypto.ts';
import { CRC32, CRC64, SHA256 } from './container.ts';
import type { Machine } from './machine.ts';

/** The check of a block that is being decoded, over bytes in the thread's memory. */
export class BlockCheck {
  readonly #machine: Machine;
  readonly #bytes: Buffer;
  #kind = 0;
  #crc32 = 0;
  #hash: Hash | undefined;

  constructor(machine: Machine, bytes: Buffer) {
    this.#machine = machine;
    this.#bytes = bytes;
  }

  begin(kind: number): void {
    this.#kind = kind;
    this.#crc32 = 0;
    this.#machine.beginCrc64();
    this.#hash = kind === SHA256 ? nodeCrypto().createHash('sha256') : undefined;
  }

  add(from: number, to: number): void {
    if (this.#kind === CRC64) this.#machine.addToCrc64(from, to);
    else if (this.#kind === CRC32) this.#crc32 = crc32(this.#bytes.subarray(from, to), this.#crc32);
    else this.#hash?.update(this.#bytes.subarray(from, to));
  }

  /** Is this the check of all that was added? */
  is(expected: Buffer): boolean {
    if (this.#kind === CRC64) {
      return BigInt.asUintN(64, this.#machine.finalCrc64()) === expected.readBigUInt64LE();
    }
    if (this.#kind === CRC32) return this.#crc32 === expected.readUInt32LE();
    return this.#hash?.digest().equals(expected) ?? true;
  }
}
