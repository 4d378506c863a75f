import type { ComponentChildren } from 'preact';
import { ProblemText, type ShownProblem } from './problem-text.tsx';

interface ListPageProps {
  title: string;
  lead: string;
  /** Until it is there the page says that it waits. */
  isLoaded: boolean;
  problem: ShownProblem | undefined;
  children: ComponentChildren;
}

/** The frame of a page that shows all of a kind. */
export function ListPage({ title, lead, isLoaded, problem, children }: ListPageProps) {
  return (
    <main class="page">
      <h1>{title}</h1>
      <p class="lead">{lead}</p>
      {problem && <ProblemText problem={problem} />}
      {isLoaded ? children : !problem && <p class="wait">Asking the server…</p>}
    </main>
  );
}

interface TableProps {
  label: string;
  headings: readonly string[];
  rows: readonly { key: string; cells: readonly ComponentChildren[] }[];
}

/** A table that a phone shows as cards. */
export function Table({ label, headings, rows }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keys
    <section class="scrolled" aria-label={label} tabIndex={0}>
      <table class="list-rows">
        <thead>
          <tr>
            {headings.map((heading) => (
              <th key={heading} scope="col">
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, index) => (
                <td
                  key={headings[index]}
                  data-label={headings[index]}
                  class={cell === '' ? 'empty-cell' : ''}
                >
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
