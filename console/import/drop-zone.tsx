import { useEffect, useState } from 'preact/hooks';
import type { ImportAnswer } from '../../protocol/imports.ts';
import { call } from '../api/call.ts';
import { useAttempts } from '../parts/attempt.ts';
import { ProblemText } from '../parts/problem-text.tsx';
import { navigate } from '../parts/route.ts';

const LONGEST_NAME = 200;

/** Takes a list of machines: dropped, chosen, or pasted. It is only checked, and its own page says what would become of it. */
export function DropZone() {
  const [isOver, setOver] = useState(false);
  const [pasted, setPasted] = useState('');
  const { isBusy, problem, attempt } = useAttempts();
  const check = (content: Blob, name: string) =>
    attempt(async () => {
      const file = encodeURIComponent(name.slice(0, LONGEST_NAME) || 'machines.csv');
      const { id } = await call<ImportAnswer>('POST', `/api/v1/imports?file=${file}`, {
        file: { type: 'text/csv', content },
      });
      navigate(`/import/${id}`);
    });
  const checkText = (text: string) => check(new Blob([text]), 'pasted rows.csv');
  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const isField = event.target instanceof Element && event.target.closest('textarea, input:not(#scan)');
      const [file] = event.clipboardData?.files ?? [];
      const text = event.clipboardData?.getData('text') ?? '';
      if (isField || (!file && !text.includes('\n'))) return;
      event.preventDefault();
      void (file ? check(file, file.name) : checkText(text));
    };
    addEventListener('paste', paste);
    return () => removeEventListener('paste', paste);
  }, []);
  return (
    <section
      class={isOver ? 'drop is-over' : 'drop'}
      aria-label="A list of machines"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const [file] = event.dataTransfer?.files ?? [];
        if (file) void check(file, file.name);
      }}
    >
      <p class="drop-here">{isBusy ? 'Checking every row…' : 'Drop a CSV file here'}</p>
      <label class="button primary">
        Choose a file
        <input
          type="file"
          class="spoken"
          accept=".csv,.txt,text/csv"
          disabled={isBusy}
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            // The same file, corrected, may be chosen again.
            if (file)
              void check(file, file.name).finally(() => {
                currentTarget.value = '';
              });
          }}
        />
      </label>
      <form
        class="paste"
        onSubmit={(event) => {
          event.preventDefault();
          if (pasted.trim() !== '') void checkText(pasted);
        }}
      >
        <label class="field">
          Or paste the rows, with their header
          <textarea
            rows={4}
            spellcheck={false}
            value={pasted}
            placeholder={'Serial,Name,OSProfile\nABC12345,till-101,edge'}
            onInput={({ currentTarget }) => setPasted(currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={isBusy || pasted.trim() === ''}>
          Check these rows
        </button>
      </form>
      {problem && <ProblemText problem={problem} />}
    </section>
  );
}
