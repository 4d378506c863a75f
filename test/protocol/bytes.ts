import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

/**
 * One message as it must look on the wire, written from the field tables by hand: tags, lengths and numbers as hex,
 * text in quotes for the reader's sake. Nothing here goes through our encoder.
 *   '0a 03 "abc"'  =  field 1, length-delimited, three bytes, abc
 */
export function bytes(notation: string): Uint8Array {
  const parts = notation.match(/"[^"]*"|[0-9a-f]{2}/g) ?? [];
  const leftOver = notation.replace(/"[^"]*"|[0-9a-f]{2}|\s/g, '');
  if (leftOver !== '') throw new Error(`not hex and not quoted text: ${leftOver}`);
  const chunks = parts.map((part) =>
    part.startsWith('"') ? Buffer.from(part.slice(1, -1)) : Buffer.from(part, 'hex'),
  );
  return new Uint8Array(Buffer.concat(chunks));
}

/** Checks both directions: the bytes decode to the value, and the value encodes to exactly these bytes. */
export function itIsOnTheWire<D extends DescMessage>(
  title: string,
  schema: D,
  notation: string,
  value: MessageInitShape<D>,
): void {
  it(`${schema.typeName}: ${title}`, () => {
    const wire = bytes(notation);
    expect(fromBinary(schema, wire)).toEqual(create(schema, value));
    expect(Buffer.from(toBinary(schema, create(schema, value))).toString('hex')).toBe(
      Buffer.from(wire).toString('hex'),
    );
  });
}
