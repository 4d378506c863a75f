import { useState } from 'preact/hooks';
import type { AuditLine, AuditVerdict } from '../../protocol/audit.ts';
import { call } from '../api/call.ts';
import { useAttempts } from '../parts/attempt.ts';
import { TextField } from '../parts/fields.tsx';
import { ListPage, Table } from '../parts/list-page.tsx';
import { ProblemText } from '../parts/problem-text.tsx';
import { useAnswer } from '../parts/use-answer.ts';
import { many } from '../words/amounts.ts';
import { plainText } from '../words/plain-text.ts';
import { exactTime } from '../words/time.ts';

const LINES_AT_ONCE = 200;

/** Who did what, with filters, and whether every line is as it was written. */
export function AuditScreen() {
  const [who, setWho] = useState('');
  const [node, setNode] = useState('');
  const [action, setAction] = useState('');
  const [after, setAfter] = useState(0);
  const filters = Object.entries({ who, node, action }).filter(([, value]) => value !== '');
  const query = new URLSearchParams([...filters, ['after', String(after)], ['limit', String(LINES_AT_ONCE)]]);
  const { answer, problem } = useAnswer<{ lines: AuditLine[] }>(`/api/v1/audit?${query}`);
  const lines = answer?.lines ?? [];
  const filter = (set: (value: string) => void) => (value: string) => {
    setAfter(0);
    set(value.trim());
  };
  return (
    <ListPage
      title="Audit"
      lead="Every change, every secret that was read, and every refusal. The oldest line is the first."
      isLoaded={answer !== undefined}
      problem={problem}
    >
      <search class="filters">
        <TextField label="Person" value={who} onChange={filter(setWho)} />
        <TextField label="Machine" hint="id or name" value={node} onChange={filter(setNode)} />
        <TextField
          label="Action"
          hint="for example registerNode"
          value={action}
          onChange={filter(setAction)}
        />
      </search>
      <Check />
      {lines.length === 0 ? (
        <p>No line fits.</p>
      ) : (
        <Table
          label="Audit lines"
          headings={['Line', 'When', 'Who', 'What', 'On', 'Result', 'Changes']}
          rows={lines.map((line) => ({
            key: String(line.line),
            cells: [
              String(line.line),
              <time key="at" dateTime={line.at}>
                {exactTime(line.at)}
              </time>,
              `${plainText(line.who, 60)} (${line.role})`,
              line.action,
              plainText(line.nodeName ?? line.target, 100),
              line.result === 'done' ? '✓ done' : `▲ ${line.result}`,
              plainText(changesOf(line), 300),
            ],
          }))}
        />
      )}
      <div class="choices">
        {after > 0 && (
          <button type="button" onClick={() => setAfter(0)}>
            Back to the first line
          </button>
        )}
        {lines.length === LINES_AT_ONCE && (
          <button type="button" onClick={() => setAfter(lines.at(-1)?.line ?? 0)}>
            Next {LINES_AT_ONCE} lines
          </button>
        )}
      </div>
    </ListPage>
  );
}

/** Asks the server to read every line and to compare the hashes. */
function Check() {
  const [verdict, setVerdict] = useState<AuditVerdict>();
  const { isBusy, problem, attempt } = useAttempts();
  const verify = () =>
    attempt(async () => setVerdict(await call<AuditVerdict>('GET', '/api/v1/audit/verify')));
  return (
    <div class="choices">
      <button type="button" disabled={isBusy} onClick={() => void verify()}>
        Check every line
      </button>
      <span role="status">{verdict && verdictWords(verdict)}</span>
      {problem && <ProblemText problem={problem} />}
    </div>
  );
}

function verdictWords({ lines, broken }: AuditVerdict): string {
  return broken
    ? `▲ Line ${broken.line}: ${broken.reason}.`
    : `✓ ${many(lines, 'line is', 'lines are')} as written.`;
}

/** Of a record that is new only what it has; of one that has changed, what became of what. */
function changesOf({ before = {}, after = {} }: AuditLine): string {
  const isNew = Object.keys(before).length === 0;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => !isNew || !isNothing(after[name]))
    .map((name) =>
      isNew ? `${name}: ${short(after[name])}` : `${name}: ${short(before[name])} → ${short(after[name])}`,
    )
    .join(', ');
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function short(value: unknown): string {
  if (isNothing(value)) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
