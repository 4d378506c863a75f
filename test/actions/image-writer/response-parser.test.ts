import { describe, expect, test } from 'vitest';
import { type ResponseHead, ResponseParser } from '../../../actions/image-writer/http/response-parser.ts';
import fc from '../../seeds/fast-check.ts';

/** Feeds a response in pieces of the given sizes; gives what came out. */
function parse(text: string, pieces: readonly number[] = []) {
  const body: Buffer[] = [];
  let head: ResponseHead | undefined;
  const parser = new ResponseParser((found) => {
    head = found;
    return (bytes) => {
      body.push(Buffer.from(bytes));
      return bytes.length;
    };
  });
  const bytes = Buffer.from(text, 'latin1');
  let at = 0;
  for (const size of [...pieces, bytes.length]) {
    at += parser.push(bytes.subarray(at, at + size));
    if (at >= bytes.length) break;
  }
  return { head, body: Buffer.concat(body).toString('latin1'), isDone: parser.isDone, parser };
}

const LENGTH = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "x"\r\n\r\nhello';
const CHUNKED =
  'HTTP/1.1 206 Partial\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: a\r\n\r\n';

describe('an HTTP/1.1 answer', () => {
  test.each([LENGTH, CHUNKED])('is the same however it is cut into pieces', (text) => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 60 }), (pieces) => {
        const { body, isDone } = parse(text, pieces);
        expect(body).toBe('hello');
        expect(isDone).toBe(true);
      }),
    );
  });

  test('header names are told in lower case, interim answers are skipped', () => {
    const { head } = parse(`HTTP/1.1 100 Continue\r\n\r\n${LENGTH}`);
    expect(head).toMatchObject({ status: 200, headers: { etag: '"x"', 'content-length': '5' } });
  });

  test('a body without length ends with the connection', () => {
    const { parser, body, isDone } = parse('HTTP/1.1 200 OK\r\n\r\nhello');
    expect({ body, isDone, ends: parser.endsWithConnection, keep: parser.canKeepAlive }).toEqual({
      body: 'hello',
      isDone: false,
      ends: true,
      keep: false,
    });
  });

  test('a taker that takes less is given the rest again', () => {
    let room = 2;
    let got = '';
    const parser = new ResponseParser(() => (bytes) => {
      const taken = Math.min(room, bytes.length);
      room -= taken;
      got += bytes.toString('latin1', 0, taken);
      return taken;
    });
    const bytes = Buffer.from(LENGTH);
    const first = parser.push(bytes);
    expect(bytes.length - first).toBe(3);
    room = 10;
    parser.push(bytes.subarray(first));
    expect(got).toBe('hello');
  });

  test('a length that is repeated is one length; two lengths, or none that is a number, have the code of a wrong length', () => {
    const repeated = parse(LENGTH.replace('Length: 5', 'Length: 5\r\nContent-Length: 5'));
    expect(repeated).toMatchObject({ body: 'hello', isDone: true });
    for (const length of ['5\r\nContent-Length: 6', 'five', '-4', '5x', ''])
      expect(() => parse(LENGTH.replace('Length: 5', `Length: ${length}`))).toThrow(
        expect.objectContaining({ code: 'KND_IMAGE_LENGTH' }),
      );
  });

  test.each(['3\r\nhello\r\n', '3\r\nhel  \r\n', '3 3\r\nhel\r\n', 'fffffffffffffff\r\nx'])(
    'chunked transfer whose sizes do not fit (%j) is an error, never bytes left out',
    (body) => {
      const head = CHUNKED.slice(0, CHUNKED.indexOf('3;'));
      expect(() => parse(head + body)).toThrow(/chunk/);
    },
  );

  test.each([
    'SSH-2.0-OpenSSH\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\n',
    `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`,
  ])('nonsense is an error', (text) => {
    expect(() => parse(text)).toThrow();
  });
});
