/** One column: its heading and how to get its text from a row. */
export type Column<Row> = [heading: string, text: (row: Row) => string | number | null | undefined];

/** Rows as a table of plain text; the last column is not padded. */
export function formatTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = [
    columns.map(([heading]) => heading),
    ...rows.map((row) => columns.map(([, text]) => printable(text(row)))),
  ];
  const widths = columns.map((_column, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, index) => (index === line.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Names and values below one another. */
export function formatFields(
  fields: readonly [name: string, value: string | number | null | undefined][],
): string {
  const shown = fields.filter(([, value]) => value !== null && value !== undefined && value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join('\n');
}

/** What nodes report ends up in a terminal: control characters and those that turn the direction of writing do not. */
export function printable(value: string | number | null | undefined): string {
  return String(value ?? '–').replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ');
}
