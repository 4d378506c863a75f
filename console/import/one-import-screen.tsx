import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ImportSummary, RowVerdict } from '../../protocol/imports.ts';
import { call, download } from '../api/call.ts';
import { may } from '../api/session.ts';
import { useAttempts } from '../parts/attempt.ts';
import { ProblemText } from '../parts/problem-text.tsx';
import { many } from '../words/amounts.ts';
import { importSentence, VERDICTS } from '../words/import-words.ts';
import { plainText } from '../words/plain-text.ts';
import { followImport, ImportFacts } from './follow-import.ts';
import { RowsTable } from './rows-table.tsx';

const ROWS_AT_ONCE = 200;
/** What needs a hand comes first. */
const SHOWN_ORDER: readonly RowVerdict[] = ['bad', 'changed', 'new', 'same'];

/** One list: what would become of every row, what becomes of it, and what became of it. */
export function OneImportScreen({ id }: { id: string }) {
  const facts = useMemo(() => new ImportFacts(), [id]);
  const [only, setOnly] = useState<RowVerdict>();
  const [isAll, setAll] = useState(false);
  useEffect(() => {
    const following = new AbortController();
    void followImport(id, facts, following.signal);
    return () => following.abort();
  }, [id, facts]);
  const summary = facts.summary.value;
  const problem = facts.problem.value;
  if (!summary)
    return (
      <main class="page">
        {problem ? <ProblemText problem={problem} /> : <p class="wait">Asking the server for the list…</p>}
        <a href="/import">Import another list</a>
      </main>
    );
  const sorted = SHOWN_ORDER.filter((verdict) => only === undefined || verdict === only).flatMap((verdict) =>
    facts.rows.value.filter((row) => row.verdict === verdict),
  );
  const shown = isAll ? sorted : sorted.slice(0, ROWS_AT_ONCE);
  return (
    <main class="page import">
      <p class="back">
        <a href="/import">← All lists</a>
      </p>
      <h1>{plainText(summary.file, 120)}</h1>
      <Counts
        summary={summary}
        only={only}
        onChoose={(verdict) => setOnly(verdict === only ? undefined : verdict)}
      />
      <p class="lead" role="status">
        {importSentence(summary)}
      </p>
      {summary.state === 'running' && (
        <progress aria-label="Imported" value={summary.done} max={Math.max(1, summary.wanted)} />
      )}
      <Choices summary={summary} />
      <RowsTable columns={facts.columns.value} rows={shown} />
      {shown.length < sorted.length && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          Show {sorted.length - shown.length} more
        </button>
      )}
    </main>
  );
}

interface CountsProps {
  summary: ImportSummary;
  only: RowVerdict | undefined;
  onChoose: (verdict: RowVerdict) => void;
}

/** How many rows there are of each kind; each part is a filter. */
function Counts({ summary, only, onChoose }: CountsProps) {
  return (
    <p class="parts">
      <span class="total">{many(summary.total, 'row')}</span>
      {SHOWN_ORDER.filter((verdict) => summary.verdicts[verdict] > 0).map((verdict) => (
        <button
          key={verdict}
          type="button"
          class={`part ${verdict}`}
          aria-pressed={only === verdict}
          onClick={() => onChoose(verdict)}
        >
          <span aria-hidden="true">{VERDICTS[verdict].shape}</span> {summary.verdicts[verdict]}{' '}
          {VERDICTS[verdict].word.toLowerCase()}
        </button>
      ))}
    </p>
  );
}

/** What can be done with the list now. */
function Choices({ summary }: { summary: ImportSummary }) {
  const { isBusy, problem, attempt } = useAttempts();
  const path = `/api/v1/imports/${encodeURIComponent(summary.id)}`;
  const start = () => attempt(() => call('POST', `${path}/start?skipBad=true`));
  const undo = () => attempt(() => call('POST', `${path}/undo`));
  const save = () => attempt(() => download(`${path}/errors.csv`, errorFileName(summary.file)));
  const { state, verdicts, outcomes, wanted } = summary;
  const rejected = verdicts.bad + outcomes.failed;
  const mayImport = may('nodes:install');
  return (
    <div class="choices">
      {state === 'checked' && verdicts.bad > 0 && (
        <button type="button" class="primary" disabled={isBusy} onClick={() => void save()}>
          Fix {many(verdicts.bad, 'row')} first
        </button>
      )}
      {state === 'checked' && mayImport && wanted > 0 && (
        <button
          type="button"
          class={verdicts.bad > 0 ? '' : 'primary'}
          disabled={isBusy}
          onClick={() => void start()}
        >
          {verdicts.bad > 0 ? `Import the other ${many(wanted, 'row')}` : `Import ${many(wanted, 'row')}`}
        </button>
      )}
      {state !== 'checked' && rejected > 0 && (
        <button type="button" disabled={isBusy} onClick={() => void save()}>
          Save the {many(rejected, 'row')} that were not imported
        </button>
      )}
      {state === 'done' && mayImport && outcomes.registered + outcomes.changed > 0 && (
        <button type="button" disabled={isBusy} onClick={() => void undo()}>
          Undo this import
        </button>
      )}
      {state === 'checked' && verdicts.bad > 0 && (
        <span class="quiet-text">
          Saves the bad rows with their reasons. Correct them and drop the file again.
        </span>
      )}
      {problem && <ProblemText problem={problem} />}
    </div>
  );
}

function errorFileName(file: string): string {
  return `${file.replace(/\.csv$/i, '')}.errors.csv`;
}
