import { KindlingError } from '../../protocol/error.ts';

/** Rows of a CSV file (RFC 4180): quoted fields may hold commas, quotes and line breaks. Blank lines are left out. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = '';
  let isQuoted = false;
  const source = text.replace(/^\uFEFF/, '');
  for (let at = 0; at <= source.length; at++) {
    const character = source[at];
    if (isQuoted) {
      if (character === undefined)
        throw new KindlingError('KND_CSV_INVALID', 'a quoted field is never closed');
      if (character !== '"') field += character;
      else if (source[at + 1] === '"') {
        field += '"';
        at++;
      } else isQuoted = false;
    } else if (character === '"' && field.trim() === '') {
      field = '';
      isQuoted = true;
    } else if (character === ',' || character === '\n' || character === undefined) {
      row.push(field.trim());
      field = '';
      if (character !== ',') {
        if (row.some((each) => each !== '')) rows.push(row);
        row = [];
      }
    } else field += character;
  }
  return rows;
}
