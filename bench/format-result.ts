import type { BenchmarkResult, Row } from './benchmark.ts';

/** A result for people: the machine, the table, and each bar with what came out. */
export function formatResult({ name, machine, rows, bars }: BenchmarkResult): string {
  const { cpu, cores, memoryMb, os, loadBefore } = machine;
  const head = `${name} · ${cpu}, ${cores} cores, ${memoryMb} MB, ${os}, load ${loadBefore}`;
  const barLines = bars.map(
    ({ name: bar, want, got, ok }) => `${ok ? '✔' : '✘'} ${bar}: ${got} (want ${want})`,
  );
  return [head, '', ...formatTable(rows), '', ...barLines, ''].join('\n');
}

/** Columns as wide as their widest cell; numbers to the right. */
export function formatTable(rows: readonly Row[]): string[] {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = rows.map((row) => columns.map((column) => formatCell(row[column])));
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...cells.map((row) => row[index]?.length ?? 0)),
  );
  const isNumber = columns.map((column) => rows.every((row) => typeof (row[column] ?? 0) === 'number'));
  const line = (texts: readonly string[]) =>
    texts
      .map((text, index) =>
        isNumber[index] ? text.padStart(widths[index] ?? 0) : text.padEnd(widths[index] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return [line(columns), line(widths.map((width) => '─'.repeat(width))), ...cells.map(line)];
}

function formatCell(value: Row[string] | undefined): string {
  if (value === undefined || value === null) return '–';
  return String(value);
}
