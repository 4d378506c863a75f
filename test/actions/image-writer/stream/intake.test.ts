import { describe, expect, test } from 'vitest';
import { SNIFF_LENGTH } from '../../../../actions/image-writer/formats.ts';
import { Intake } from '../../../../actions/image-writer/stream/intake.ts';
import { createRingMemory, RingReader, RingWriter } from '../../../../actions/image-writer/stream/ring.ts';

function setUp() {
  const memory = createRingMemory();
  const reader = new RingReader(memory);
  const resumed: string[] = [];
  const intake = new Intake(new RingWriter(memory), () => resumed.push('resumed'));
  /** Everything up to the end of the file. */
  const readAll = () => {
    const parts: Buffer[] = [];
    for (let piece = reader.next(2 ** 20); piece; piece = reader.next(2 ** 20)) {
      parts.push(Buffer.from(reader.memory.subarray(piece.at, piece.at + piece.length)));
      reader.consume(piece.length);
    }
    return Buffer.concat(parts);
  };
  return { intake, reader, readAll, resumed };
}
const bytes = (length: number) => Buffer.from(Uint8Array.from({ length }, (_, at) => at % 251));

describe('the first bytes', () => {
  test('wait until somebody reads the ring; more are not taken before', async () => {
    const { intake, reader, readAll, resumed } = setUp();
    const file = bytes(SNIFF_LENGTH + 1000);
    expect(intake.take(file.subarray(0, 10))).toBe(10);
    expect(intake.take(file.subarray(10))).toBe(SNIFF_LENGTH - 10);
    expect(intake.take(file.subarray(SNIFF_LENGTH))).toBe(0);
    expect((await intake.first).equals(file.subarray(0, SNIFF_LENGTH))).toBe(true);
    expect(reader.hasNext()).toBe(false);
    intake.open();
    expect(resumed).toEqual(['resumed']);
    expect(intake.take(file.subarray(SNIFF_LENGTH))).toBe(1000);
    intake.end();
    expect(readAll().equals(file)).toBe(true);
  });

  test.each([0, 5, SNIFF_LENGTH])('of a file of %d bytes are all of it', async (length) => {
    const { intake, reader, readAll } = setUp();
    const file = bytes(length);
    expect(intake.take(file)).toBe(length);
    intake.end();
    expect((await intake.first).length).toBe(length);
    // the end must not be seen before the bytes are
    expect(reader.hasNext()).toBe(false);
    intake.open();
    expect(readAll().equals(file)).toBe(true);
  });
});
