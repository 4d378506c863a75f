import { describe, expect, it } from 'vitest';
import { parseSyslog } from '../../protocol/syslog.ts';
import { rounds, testIntegers } from '../seeds/seeds.ts';

const now = new Date('2026-01-02T03:04:05Z');
const parse = (text: string) => parseSyslog(Buffer.from(text), now);

describe('syslog messages', () => {
  it('of RFC 5424, with structured data and without', () => {
    expect(
      parse(
        '<14>1 2026-01-02T03:04:05.678Z node-7 kindling-agent 42 erase [meta sequenceId="1" x="a]\\"b"] disk is empty',
      ),
    ).toEqual({
      severity: 6,
      facility: 1,
      time: new Date('2026-01-02T03:04:05.678Z'),
      host: 'node-7',
      app: 'kindling-agent',
      message: 'disk is empty',
    });
    expect(parse('<0>1 - - - - - -')).toMatchObject({
      time: undefined,
      host: undefined,
      app: undefined,
      message: '',
    });
    expect(parse('<165>1 - h a - - - \uFEFFümlaut')).toMatchObject({ message: 'ümlaut' });
  });

  it('of RFC 3164, also where firmware leaves parts away', () => {
    expect(parse('<30>Jan  2 03:00:00 host dhclient[77]: bound')).toMatchObject({
      time: new Date('2026-01-02T03:00:00Z'),
      host: 'host',
      app: 'dhclient',
      message: 'bound',
    });
    expect(parse('<30>Dec 31 23:59:59 host x: y')?.time).toEqual(new Date('2025-12-31T23:59:59Z'));
    expect(parse('<30>ipxe: net0 is up\n')).toMatchObject({
      app: 'ipxe',
      message: 'net0 is up',
      time: undefined,
    });
    expect(parse('<30>just words')).toMatchObject({ app: undefined, message: 'just words' });
  });

  it('are told from anything else', () => {
    for (const text of ['', 'hello', '<>x', '<192>x', '<1234>x', '< 1>x'])
      expect(parse(text)).toBeUndefined();
  });

  it('never fail to be read, whatever the bytes (100,000 seeded)', () => {
    const random = testIntegers(5);
    const pieces = [
      '<14>',
      '1 ',
      '- ',
      '[',
      ']',
      '"',
      '\\',
      'Jan ',
      '12:00:00 ',
      'tag[1]: ',
      '\0',
      'é',
      '\n',
    ];
    for (let round = 0; round < rounds(100_000); round += 1) {
      const length = random(12);
      const text = Array.from({ length }, () =>
        random(4) === 0 ? String.fromCharCode(random(256)) : pieces[random(pieces.length)],
      ).join('');
      const parsed = parseSyslog(Buffer.from(`<14>${text}`, 'latin1'), now);
      if (typeof parsed?.message !== 'string') throw new Error(JSON.stringify(text));
    }
  });
});
