import type { WorkflowAnswer } from '../api/answers.ts';
import { Ago } from '../parts/since.tsx';
import { plainText } from '../words/plain-text.ts';
import { duration } from '../words/time.ts';

const STATES: Readonly<Record<string, string>> = {
  PENDING: '○ Waiting',
  RUNNING: '● Running',
  SUCCESS: '✓ Done',
  FAILED: '▲ Failed',
  TIMEOUT: '▲ Ran out of time',
  CANCELLED: '▲ Canceled',
};

/** Every workflow the machine had, the newest first. */
export function HistoryTab({ workflows }: { workflows: readonly WorkflowAnswer[] }) {
  if (workflows.length === 0) return <p class="quiet">Nothing was ever installed on it from here.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keys
    <section class="scroll" aria-label="Workflows" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Generation</th>
            <th scope="col">Template</th>
            <th scope="col">Outcome</th>
            <th scope="col">Took</th>
            <th scope="col">Begun</th>
          </tr>
        </thead>
        <tbody>
          {workflows.map(({ id, generation, template, state, message, startedAt, finishedAt, createdAt }) => (
            <tr key={id}>
              <td>{generation === 0 ? 'by hand' : generation}</td>
              <td>{template}</td>
              <td>
                {STATES[state] ?? state} <bdi class="quiet">{plainText(message, 300)}</bdi>
              </td>
              <td>
                {startedAt && finishedAt
                  ? duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000)
                  : '–'}
              </td>
              <td>
                <Ago at={createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
