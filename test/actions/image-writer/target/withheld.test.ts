import { describe, expect, test } from 'vitest';
import { HEAD_BYTES, Withheld } from '../../../../actions/image-writer/target/withheld.ts';

const MIB = 1024 * 1024;
const DISK = { size: 4 * MIB, sectorSize: 512 };
const TAIL_AT = DISK.size - 512;

/** No two bytes near each other are the same. */
const image = Buffer.from(Uint8Array.from({ length: DISK.size }, (_, at) => (at * 31 + (at >> 9)) & 0xff));

describe('what is withheld', () => {
  test('is the first MiB and the last sector, however the image is cut', () => {
    for (const piece of [DISK.size, MIB, 700_000, 4096]) {
      const withheld = Withheld.of(DISK);
      const disk = Buffer.alloc(DISK.size);
      for (let at = 0; at < DISK.size; at += piece) {
        const bytes = image.subarray(at, at + piece);
        const { from, to } = withheld.keep(bytes, at);
        bytes.copy(disk, at + from, from, to);
      }
      expect(disk.subarray(0, HEAD_BYTES).every((byte) => byte === 0)).toBe(true);
      expect(disk.subarray(HEAD_BYTES, TAIL_AT).equals(image.subarray(HEAD_BYTES, TAIL_AT))).toBe(true);
      expect(disk.subarray(TAIL_AT).every((byte) => byte === 0)).toBe(true);
      const { head, tail, tailAt } = withheld.parts(DISK.size);
      expect(head.equals(image.subarray(0, HEAD_BYTES))).toBe(true);
      expect(tail.equals(image.subarray(TAIL_AT))).toBe(true);
      expect(tailAt).toBe(TAIL_AT);
    }
  });

  test('may come in any order', () => {
    const withheld = Withheld.of(DISK);
    for (const at of [3 * MIB, 0, 2 * MIB, MIB]) withheld.keep(image.subarray(at, at + MIB), at);
    expect(withheld.parts(DISK.size).head.equals(image.subarray(0, MIB))).toBe(true);
    expect(withheld.parts(DISK.size).tail.equals(image.subarray(TAIL_AT))).toBe(true);
  });

  test('is no longer than the image', () => {
    const withheld = Withheld.of(DISK);
    withheld.keep(image.subarray(0, 5000), 0);
    const { head, tail } = withheld.parts(5000);
    expect(head.equals(image.subarray(0, 5000))).toBe(true);
    expect(tail.length).toBe(0);
  });

  test('is shared by all threads that write', () => {
    const withheld = Withheld.of(DISK);
    new Withheld(structuredClone(withheld.memory)).keep(image.subarray(TAIL_AT), TAIL_AT);
    expect(withheld.parts(DISK.size).tail.equals(image.subarray(TAIL_AT))).toBe(true);
  });

  test('counts in the longer sectors of image and disk', () => {
    expect(Withheld.of(DISK, 4096).tailAt).toBe(DISK.size - 4096);
    expect(Withheld.of({ ...DISK, sectorSize: 4096 }, 512).tailAt).toBe(DISK.size - 4096);
  });

  test('is all of a disk that is shorter than a MiB, and its end counts twice', () => {
    const small = { size: 8192, sectorSize: 512 };
    const withheld = Withheld.of(small);
    expect(withheld.keep(image.subarray(0, 8192), 0)).toEqual({ from: 8192, to: 8192 });
    const { head, tail, tailAt } = withheld.parts(8192);
    expect(head.equals(image.subarray(0, 8192))).toBe(true);
    expect(tail.equals(image.subarray(tailAt, 8192))).toBe(true);
  });

  test('is put over what is read from the disk', () => {
    const withheld = Withheld.of(DISK);
    withheld.keep(image, 0);
    const places = [
      [0, MIB],
      [MIB - 4096, 8192],
      [2 * MIB, 4096],
      [TAIL_AT - 4096, 4096 + 512],
      [TAIL_AT + 100, 50],
    ] as const;
    for (const [at, length] of places) {
      const onDisk = Buffer.from(image.subarray(at, at + length));
      onDisk.fill(0, 0, Math.max(0, Math.min(length, HEAD_BYTES - at)));
      onDisk.fill(0, Math.max(0, Math.min(length, TAIL_AT - at)));
      expect(withheld.overlay(onDisk, at).equals(image.subarray(at, at + length))).toBe(true);
    }
  });
});
