import { describe, expect, it } from 'vitest';
import { findIcuData, trimIcuData } from '../../../initrd/executable/icu-data.ts';

const HEADER_SIZE = 32;

/** A program with some code around a table in ICU's format. */
function programWith(items: Record<string, string>): { program: Buffer; size: number } {
  const header = Buffer.alloc(HEADER_SIZE);
  header.writeUInt16LE(HEADER_SIZE, 0);
  header.writeUInt16LE(0x27da, 2);
  header.write('CmnD', 12);
  const names = Object.keys(items).sort();
  const toc = Buffer.alloc(4 + names.length * 8);
  toc.writeUInt32LE(names.length, 0);
  const parts: Buffer[] = [];
  let at = toc.length;
  names.forEach((name, index) => {
    toc.writeUInt32LE(at, 4 + index * 8);
    parts.push(Buffer.from(`icudt78l/${name}\0`));
    at += (parts.at(-1) ?? toc).length;
  });
  names.forEach((name, index) => {
    toc.writeUInt32LE(at, 8 + index * 8);
    parts.push(Buffer.from(items[name] ?? ''));
    at += (parts.at(-1) ?? toc).length;
  });
  const table = Buffer.concat([header, toc, ...parts]);
  return {
    program: Buffer.concat([Buffer.from('CmnD, not a table'), table, Buffer.from('code')]),
    size: table.length,
  };
}

function itemsOf(program: Buffer, offset: number): Record<string, string> {
  const body = program.subarray(offset + HEADER_SIZE);
  const items = Array.from({ length: body.readUInt32LE(0) }, (_, index) => {
    const name = body.readUInt32LE(4 + index * 8);
    const contents = body.readUInt32LE(8 + index * 8);
    return [
      body.toString('latin1', name, body.indexOf(0, name)),
      body.toString('latin1', contents, contents + 4),
    ];
  });
  return Object.fromEntries(items);
}

describe('trimming the ICU data inside Node', () => {
  it('keeps English and what belongs to no language, and clears the rest', () => {
    const { program, size } = programWith({
      'brkitr/cjdict.dict': 'D'.repeat(500),
      'brkitr/word.brk': 'word',
      'de.res': 'G'.repeat(500),
      'en.res': 'engl',
      'sr_Latn_RS.res': 'S'.repeat(500),
      'translit/root.res': 'T'.repeat(500),
      'zoneinfo64.res': 'zone',
    });
    const offset = findIcuData(program);
    const left = trimIcuData(program, { offset, size });
    expect(itemsOf(program, offset)).toEqual({
      'icudt78l/brkitr/word.brk': 'word',
      'icudt78l/en.res': 'engl',
      'icudt78l/zoneinfo64.res': 'zone',
    });
    expect(program.subarray(offset + left, offset + size).every((byte) => byte === 0)).toBe(true);
    expect(program.toString('latin1', offset + size)).toBe('code');
  });

  it('says so when there is none', () => {
    expect(() => findIcuData(Buffer.from('CmnD but no ICU data'))).toThrow(/carries no ICU data/);
  });
});
