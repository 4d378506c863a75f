import { KindlingError } from '../protocol/error.ts';

export interface CsvRow {
  /** Where it begins in the file, counted from 1. */
  line: number;
  fields: string[];
}

/** What may stand between two fields: spreadsheets of half of Europe write semicolons. */
const DELIMITERS = [',', ';', '\t'] as const;
export type CsvDelimiter = (typeof DELIMITERS)[number];

/** The delimiter of a file: the one that its first line has most of, a comma in doubt. */
export function delimiterOf(text: string): CsvDelimiter {
  const [first = ''] = text.split('\n', 1);
  const count = (delimiter: CsvDelimiter) => first.split(delimiter).length;
  return DELIMITERS.reduce((best, each) => (count(each) > count(best) ? each : best));
}

/** Rows of a CSV file (RFC 4180): quoted fields may hold delimiters, quotes and line breaks. Blank lines are left out. */
export function parseCsv(text: string, delimiter: CsvDelimiter = ','): CsvRow[] {
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
    } else if (character === delimiter || character === '\n' || character === undefined) {
      fields.push(field.trim());
      field = '';
      if (character !== delimiter) {
        if (fields.some((each) => each !== '')) rows.push({ line: lineOfRow, fields });
        fields = [];
        lineOfRow = line;
      }
    } else field += character;
  }
  return rows;
}

/** One line of a CSV file, with its line break. */
export function formatCsvRow(fields: readonly string[], delimiter: CsvDelimiter = ','): string {
  const quoted = fields.map((field) =>
    /["\r\n,;\t]|^\s|\s$/.test(field) ? `"${field.replaceAll('"', '""')}"` : field,
  );
  return `${quoted.join(delimiter)}\r\n`;
}
