import { expect, test } from 'vitest';
import { delimiterOf, formatCsvRow, parseCsv } from '../../formats/csv.ts';

test('quotes, line breaks, CRLF, a byte-order mark and short rows', () => {
  const rows = parseCsv('\uFEFFa,b\r\n"x, ""y""",2\r\n\r\n"line\nbreak"\nlast\n');
  expect(rows.map(({ line }) => line)).toEqual([1, 2, 4, 6]);
  expect(rows.map(({ fields }) => fields)).toEqual([['a', 'b'], ['x, "y"', '2'], ['line\nbreak'], ['last']]);
  expect(() => parseCsv('a,"never closed\n')).toThrow('never closed');
});

test.each([
  ['Serial,UUID', ','],
  ['Serial;UUID;K8sConfig', ';'],
  ['Serial\tUUID', '\t'],
  ['Serial', ','],
])('%j is separated by %j', (header, delimiter) => {
  expect(delimiterOf(`${header}\na;b;c;d\n`)).toBe(delimiter);
});

test.each([',', ';', '\t'] as const)('what is written with %j is read again as it was', (delimiter) => {
  const rows = [
    ['plain', '', 'a,b', 'c;d', 'e\tf'],
    ['"quoted"', 'line\nbreak', '=1+1', "'", 'x'],
  ];
  const text = rows.map((row) => formatCsvRow(row, delimiter)).join('');
  expect(parseCsv(text, delimiter).map(({ fields }) => fields)).toEqual(rows);
});
