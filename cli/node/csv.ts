import { KindlingError } from '../../protocol/error.ts';

export interface CsvRow {
  /** Where it begins in the file, counted from 1. */
  line: number;
  fields: string[];
}

/** Rows of a CSV file (RFC 4180): quoted fields may hold commas, quotes and line breaks. Blank lines are left out. */
export function parseCsv(text: string): CsvRow[] {
  const rows: CsvRow[] = [];
  let fields: string[] = [];
  let line = 1;
  let lineOfRow = 1;
  let field = '';
  let isQuoted = false;
  const source = text.replace(/^\uFEFF/, '');
  for (let at = 0; at <= source.length; at++) {
    const character = source[at];
    if (character === '\n') line++;
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
      fields.push(field.trim());
      field = '';
      if (character !== ',') {
        if (fields.some((each) => each !== '')) rows.push({ line: lineOfRow, fields });
        fields = [];
        lineOfRow = line;
      }
    } else field += character;
  }
  return rows;
}
