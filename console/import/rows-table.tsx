import type { ImportRow } from '../../protocol/imports.ts';
import { OUTCOMES, VERDICTS } from '../words/import-words.ts';
import { plainText } from '../words/plain-text.ts';

const LONGEST_CELL = 200;

/** The rows as in the file, each with its verdict in front, and what is wrong with a cell in that cell. */
export function RowsTable({ columns, rows }: { columns: readonly string[]; rows: readonly ImportRow[] }) {
  // A column that nobody filled in only takes the room of the others.
  const shown = columns
    .map((name, index) => ({ name: plainText(name, 40), index }))
    .filter(({ index }) => rows.some((row) => isUsed(row, index)));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keys
    <section class="scrolled" aria-label="Rows" tabIndex={0}>
      <table class="list-rows">
        <thead>
          <tr>
            <th scope="col">Line</th>
            <th scope="col">Machine</th>
            <th scope="col">Verdict</th>
            {shown.map(({ name, index }) => (
              <th key={index} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.line} class={row.outcome === 'failed' ? 'bad' : row.verdict}>
              <td data-label="Line">{row.line}</td>
              <td data-label="Machine" class="machine">
                {plainText(row.node, 120)}
              </td>
              <Verdict row={row} />
              {shown.map(({ name, index }) => (
                <Cell key={index} name={name} index={index} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function isUsed({ cells, faults }: ImportRow, index: number): boolean {
  return (cells[index] ?? '') !== '' || faults.some(({ column }) => column === index);
}

function Verdict({ row }: { row: ImportRow }) {
  const { shape, word } = row.outcome === null ? VERDICTS[row.verdict] : OUTCOMES[row.outcome];
  const whole = row.faults.filter(({ column }) => column === null).map(({ message }) => message);
  return (
    <td class="verdict" data-label="Verdict">
      <strong>
        <span aria-hidden="true">{shape}</span> {word}
      </strong>
      {[...whole, row.detail]
        .filter((message) => message !== '')
        .map((message) => (
          <span key={message} class="fault">
            {plainText(message, 300)}
          </span>
        ))}
      {row.changes.map(({ field, from, to }) => (
        <span key={field} class="change">
          {plainText(field, 60)}: <del>{plainText(from, 60) || 'none'}</del> → <ins>{plainText(to, 60)}</ins>
        </span>
      ))}
    </td>
  );
}

function Cell({ name, index, row }: { name: string; index: number; row: ImportRow }) {
  const text = plainText(row.cells[index] ?? '', LONGEST_CELL);
  const faults = row.faults.filter(({ column }) => column === index);
  if (faults.length === 0)
    return (
      <td data-label={name} class={text === '' ? 'empty-cell' : ''}>
        {text}
      </td>
    );
  return (
    <td class="bad-cell" data-label={name}>
      {text}
      {faults.map(({ message }) => (
        <span key={message} class="fault">
          ▲ {plainText(message, 300)}
        </span>
      ))}
    </td>
  );
}
