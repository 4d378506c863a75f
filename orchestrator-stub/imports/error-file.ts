import { formatCsvRow } from '../../formats/csv.ts';
import type { ImportRow } from '../../protocol/imports.ts';
import type { ImportRecord } from './import-table.ts';
import { isErrorColumn } from './machine-list.ts';

/**
 * The rows that were not imported, in the columns of the file and with the reasons in the last one. It can be corrected and
 * imported as it is: a column "Error" is not looked at.
 */
export function writeErrorFile(
  { columns, delimiter }: Pick<ImportRecord, 'columns' | 'delimiter'>,
  rows: readonly ImportRow[],
): string {
  const kept = columns.flatMap((column, index) => (isErrorColumn(column) ? [] : [index]));
  const header = [...kept.map((index) => columns[index] ?? ''), 'Error'];
  const lines = rows.filter(isRejected).map(({ cells, faults, detail }) => {
    const reasons = [...faults.map(({ message }) => message), detail].filter((reason) => reason !== '');
    return [...kept.map((index) => cells[index] ?? ''), reasons.join('; ')];
  });
  return [header, ...lines].map((line) => formatCsvRow(line, delimiter)).join('');
}

/** "machines.csv" becomes "machines.errors.csv", with nothing that a file system or a header would stumble over. */
export function errorFileName(file: string): string {
  const name = file.replace(/\.csv$/i, '').replaceAll(/[^A-Za-z0-9._ -]/g, '_');
  return `${name || 'machines'}.errors.csv`;
}

function isRejected({ verdict, outcome }: ImportRow): boolean {
  return verdict === 'bad' || outcome === 'failed';
}
