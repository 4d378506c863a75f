import { describe, expect, it } from 'vitest';
import { EventStreamParser } from '../../protocol/event-stream.ts';

/** The stream in pieces of this many bytes: where they end must not matter. */
function parse(text: string, size: number) {
  const parser = new EventStreamParser();
  const bytes = Buffer.from(text);
  const events = [];
  for (let at = 0; at < bytes.length; at += size) events.push(...parser.push(bytes.subarray(at, at + size)));
  return { events, parser };
}

describe.each([1, 2, 3, 1000])('a stream of events in pieces of %i bytes', (size) => {
  it('is taken apart by the rules of the HTML standard', () => {
    const { events } = parse(
      [
        '\uFEFFretry: 2000',
        '',
        ': a comment',
        'id: 1',
        'event: node',
        'data: {"name":"Gerät 7"}',
        '',
        'data: two',
        'data:lines',
        'data',
        'unknown: field',
        '',
        'event: empty',
        '',
        'id',
        'data: after',
        '',
        'data: cut off',
      ].join('\n'),
      size,
    );
    expect(events).toEqual([
      { id: '1', type: 'node', data: '{"name":"Gerät 7"}' },
      { id: '1', type: 'message', data: 'two\nlines\n' },
      { id: '', type: 'message', data: 'after' },
    ]);
  });

  it('may end its lines with CR, LF or both', () => {
    const { events } = parse('data: a\r\n\r\ndata: b\r\rdata: c\n\ndata: d\r\n\n', size);
    expect(events.map(({ data }) => data)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('names a place without an event, and how long to wait; nonsense is passed over', () => {
    const { events, parser } = parse('retry: 50\nid: 42\n\nretry: soon\nid: a\0b\n\n', size);
    expect(events).toEqual([]);
    expect(parser).toMatchObject({ lastId: '42', retryMs: 50 });
  });
});
